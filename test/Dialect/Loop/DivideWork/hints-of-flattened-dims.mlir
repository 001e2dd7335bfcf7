// x has [batch 2 * rows 64, hidden 256]: one variable walks batch and rows. Slices of it are what the hint says where batch is cut
// entirely before rows are cut; names reach the second operation whole. Results of operations without inputs are named by a hint.
// RUN: spyre-opt %s --spyre-loop-assign-hints | FileCheck %s
// RUN: sed -e 's/batch = 2, rows = 4/rows = 4/' %s | not spyre-opt - --spyre-loop-assign-hints 2>&1 | FileCheck %s --check-prefix=INNER
// RUN: sed -e 's/"batch", 2, 0/"rows", 2, 0/' %s | not spyre-opt - --spyre-loop-assign-hints 2>&1 | FileCheck %s --check-prefix=TILES

// CHECK: loop.compute "exp" {{.*}}hints = array<i64: 8, 0>
// CHECK: loop.compute "abs" {{.*}}hints = array<i64: 2, 2>, loops = [array<i64: 0, 2, 0>], tiles = array<i64: 2, 1>
// CHECK: loop.compute "copy" {{.*}}hints = array<i64: 4, 0>
// CHECK: loop.compute "add" {{.*}}hints = array<i64: 0, 2>
// INNER: model.py:12:0: error: SPYRE-E3140: 'exp': work_div asks for parts of dimensions that are walked as one (1 of 2 batch, 4 of 64 rows)
// TILES: model.py:13:0: error: SPYRE-E3140: 'abs': tiles asks for parts of dimensions that are walked as one (1 of 2 batch, 2 of 64 rows)
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} {dims = [["batch", 2, "rows", 64], ["hidden", 256]]} : memref<128x256xf16>
  %c = loop.buffer "c" "constant" stride [] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 0, -1>} {value = 1.0 : f64} : memref<f16>
  %t = loop.buffer "t" "temp" stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  %u = loop.buffer "u" "temp" stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  %o = loop.buffer "o" "temp" stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  %z = loop.buffer "z" "output" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  loop.compute "exp" ins(%x : memref<128x256xf16>) outs(%t : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] loc(fused<{work_div = {batch = 2, rows = 4}}>["model.py":12:0])
  loop.compute "abs" ins(%t : memref<128x256xf16>) outs(%u : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] loc(fused<{work_div = {batch = 2, hidden = 2}, tiles = [["batch", 2, 0]]}>["model.py":13:0])
  loop.compute "copy" ins(%c : memref<f16>) outs(%o : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>] loc(fused<{named_dims = [["m", 128], ["n", 256]], work_div = {m = 4}}>["model.py":14:0])
  loop.compute "add" ins(%o, %o : memref<128x256xf16>, memref<128x256xf16>) outs(%z : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] loc(fused<{work_div = {n = 2}}>["model.py":15:0])
  return
}
