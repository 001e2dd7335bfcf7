// `(x + y) * z` under two scopes is one nest; the sum is a tile. What sums over the rows it is cut in begins a loop of its own from that
// level on; its result is set to zero in front of the loop and every tile is added to it. A loop is divided by its tiles.
// RUN: spyre-opt %s --spyre-loop-assign-hints --spyre-loop-form-nests | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-assign-hints --spyre-loop-form-nests --work-distribution=cores=4 | FileCheck %s --check-prefix=SPLIT
// RUN: sed -e 's/"rows", 2, 0/"rows", 3, 0/' %s | not spyre-opt - --spyre-loop-assign-hints 2>&1 | FileCheck %s --check-prefix=UNEVEN
// RUN: sed -e 's/"columns", 4, 1/"column", 4, 1/' %s | not spyre-opt - --spyre-loop-assign-hints 2>&1 | FileCheck %s --check-prefix=NOBODY

// CHECK: loop.buffer "t" {{.*}}device_size = array<i64: 16, 512, 64>{{.*}}per_tile{{.*}}memref<512x1024xf16>
// CHECK: loop.buffer "r_part" {{.*}}per_tile{{.*}}memref<1024xf16>
// CHECK: loop.compute "add" {{.*}}loops = [array<i64: 0, 2, 0>, array<i64: 1, 4, 1>], tiles = array<i64: 2, 4>
// CHECK: loop.compute "mul" {{.*}}loops = [array<i64: 0, 2, 0>, array<i64: 1, 4, 1>], tiles = array<i64: 2, 4>
// CHECK: loop.compute "copy" ins(%const {{.*}} outs(%r :
// CHECK-NOT: loops
// CHECK: loop.compute "sum" {{.*}}outs(%r_part : {{.*}}loops = [array<i64: 2, 2, 1>, array<i64: 3, 4, 0>], tiles = array<i64: 4, 2>
// CHECK: loop.compute "add" ins(%r, %r_part {{.*}}outs(%r : {{.*}}loops = [array<i64: 2, 2, -1>, array<i64: 3, 4, 0>], tiles = array<i64: 4>
// SPLIT: loop.compute "add" {{.*}} splits [{{.*}}] {{.*}}owners = {{.*}}tiles = array<i64: 2, 4>
// UNEVEN: model.py:12:0: error: SPYRE-E3077: 'add': 3 tiles of 1024 elements of c0 are not equal
// NOBODY: SPYRE-E3143: model.py:12: tiles asks for 4 parts of 'column', which no operation under the hint has (they have columns, rows)
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [4096, 1] layout {device_size = array<i64: 64, 1024, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4096, 1>} {dims = [["rows", 1024], ["columns", 4096]]} : memref<1024x4096xf16>
  %t = loop.buffer "t" "temp" stride [4096, 1] layout {device_size = array<i64: 64, 1024, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4096, 1>} : memref<1024x4096xf16>
  %z = loop.buffer "z" "output" index 0 stride [4096, 1] layout {device_size = array<i64: 64, 1024, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4096, 1>} : memref<1024x4096xf16>
  %r = loop.buffer "r" "output" index 1 stride [1] layout {device_size = array<i64: 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<4096xf16>
  loop.compute "add" ins(%x, %x : memref<1024x4096xf16>, memref<1024x4096xf16>) outs(%t : memref<1024x4096xf16>) vars ["c0", "c1"] extents [1024, 4096] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] loc(fused<{tiles = [["rows", 2, 0], ["columns", 4, 1]]}>["model.py":12:0])
  loop.compute "mul" ins(%t, %x : memref<1024x4096xf16>, memref<1024x4096xf16>) outs(%z : memref<1024x4096xf16>) vars ["c0", "c1"] extents [1024, 4096] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] loc(fused<{tiles = [["rows", 2, 0], ["columns", 4, 1]]}>["model.py":12:0])
  loop.compute "sum" ins(%x : memref<1024x4096xf16>) outs(%r : memref<4096xf16>) vars ["c0", "c1"] extents [4096, 1024] reductions 1 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>] loc(fused<{tiles = [["rows", 2, 2], ["columns", 4, 3]]}>["model.py":14:0])
  return
}
