// x.mul_(y): the product is written where x is; nothing is copied.
// RUN: spyre-opt %s --spyre-loop-elide-copy-back | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-elide-copy-back > %t.once
// RUN: spyre-opt %t.once --spyre-loop-elide-copy-back | diff %t.once -

// CHECK-NOT: "temp"
// CHECK: loop.compute "mul" ins(%x, %y {{.*}} outs(%x :
// CHECK-NOT: "copy"
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<8x128xf16>
  %y = loop.buffer "y" "input" index 1 stride [128, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<8x128xf16>
  %t = loop.buffer "t" "temp" stride [128, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<8x128xf16>
  loop.compute "mul" ins(%x, %y : memref<8x128xf16>, memref<8x128xf16>) outs(%t : memref<8x128xf16>) vars ["c0", "c1"] extents [8, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "copy" ins(%t : memref<8x128xf16>) outs(%x : memref<8x128xf16>) vars ["c0", "c1"] extents [8, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
