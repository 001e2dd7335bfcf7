// A reduction along the stick leaves one element per stick (device_size [1, 4, 64] for 4 sums); one along rows keeps the stick.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: %rows = loop.buffer "rows" {{.*}} layout {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: -1, 1, -1>}
// CHECK: %columns = loop.buffer "columns" {{.*}} layout {device_size = array<i64: 2, 64>
// CHECK-NOT: "copy"
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [100, 1] layout {device_size = array<i64: 2, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 100, 1>} : memref<4x100xf16>
  %rows = loop.buffer "rows" "output" index 0 stride [1] : memref<4xf16>
  %columns = loop.buffer "columns" "output" index 1 stride [1] : memref<100xf16>
  loop.compute "sum" ins(%x : memref<4x100xf16>) outs(%rows : memref<4xf16>) vars ["c0", "c1"] extents [4, 100] reductions 1 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]
  loop.compute "sum" ins(%x : memref<4x100xf16>) outs(%columns : memref<100xf16>) vars ["c0", "c1"] extents [100, 4] reductions 1 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>]
  return
}
