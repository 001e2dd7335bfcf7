// Names follow the elements: x [tokens, hidden] is read transposed, t has hidden outside; the second operation walks it. Hints
// are authoritative in every mode, and all other variables stay whole.
// RUN: spyre-opt %s --spyre-loop-assign-hints | FileCheck %s --check-prefix=NAMES
// RUN: spyre-opt %s --spyre-loop-assign-hints --spyre-loop-work-distribution | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-assign-hints --spyre-loop-span-reduction="planner=compat" --spyre-loop-work-distribution="planner=compat" | FileCheck %s
// Hints beyond the cores, or without equal slices, are errors that name the line.
// RUN: not spyre-opt %s --spyre-loop-assign-hints --spyre-loop-work-distribution=cores=2 2>&1 | FileCheck %s --check-prefix=CORES
// RUN: sed -e 's/tokens = 4/tokens = 5/' %s | not spyre-opt - --spyre-loop-assign-hints --spyre-loop-work-distribution 2>&1 | FileCheck %s --check-prefix=UNEVEN
// RUN: sed -e 's/tokens = 4/tokens = 0/' %s | not spyre-opt - --spyre-loop-assign-hints 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: sed -e 's/"hidden", 2, 0/"hidden", 3, 0/' %s | not spyre-opt - --spyre-loop-assign-hints 2>&1 | FileCheck %s --check-prefix=TILES

// NAMES: loop.compute "exp" {{.*}}hints = array<i64: 0, 4>
// NAMES: loop.compute "abs" {{.*}}hints = array<i64: 2, 4>, loops = [array<i64: 0, 2, 0>], tiles = array<i64: 2, 1>
// NAMES: loop.compute "neg"
// NAMES-NOT: hints
// CHECK: loop.compute "exp" {{.*}} splits [1, 4]
// CHECK: loop.compute "abs" {{.*}} splits [2, 4] {{.*}}tiles = array<i64: 2, 1>
// CORES: model.py:12:0: error: SPYRE-E3068: 'exp': the hints c1 4 need 4 cores, which exceeds SENCORES=2
// UNEVEN: model.py:12:0: error: SPYRE-E3067: 'exp': c1 (128 elements, 128 pieces) is not evenly divisible by the hint 5
// ZERO: model.py:12:0: error: SPYRE-E3066: 'exp': the hint for tokens must be a positive integer
// TILES: model.py:13:0: error: SPYRE-E3077: 'abs': 3 tiles of 256 elements of c0 are not equal or cut a stick
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} {dims = [["tokens", 128], ["hidden", 256]]} : memref<128x256xf16>
  %t = loop.buffer "t" "temp" stride [128, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 8192, 1, 128>} : memref<256x128xf16>
  %u = loop.buffer "u" "temp" stride [128, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 8192, 1, 128>} : memref<256x128xf16>
  %z = loop.buffer "z" "output" index 0 stride [128, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 8192, 1, 128>} : memref<256x128xf16>
  loop.compute "exp" ins(%x : memref<128x256xf16>) outs(%t : memref<256x128xf16>) vars ["c0", "c1"] extents [256, 128] reductions 0 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] loc(fused<{work_div = {tokens = 4}}>["model.py":12:0])
  loop.compute "abs" ins(%t : memref<256x128xf16>) outs(%u : memref<256x128xf16>) vars ["c0", "c1"] extents [256, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] loc(fused<{work_div = {tokens = 4, hidden = 2}, tiles = [["hidden", 2, 0]]}>["model.py":13:0])
  loop.compute "neg" ins(%u : memref<256x128xf16>) outs(%z : memref<256x128xf16>) vars ["c0", "c1"] extents [256, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] loc("model.py":14:0)
  return
}
