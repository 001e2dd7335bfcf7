// 68 elements have 128 positions. The conversions count elements, what is between them counts positions.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK-NOT: "copy"
// CHECK: loop.compute "dl16tofp32" ins(%x {{.*}}) outs(%t_positions : memref<6x128xf32>) vars ["c0", "c1"] extents [6, 68]
// CHECK-NEXT: loop.compute "exp" ins(%t_positions {{.*}}) outs(%u_positions : memref<6x128xf32>) vars ["c0", "c1"] extents [6, 128]
// CHECK-NEXT: loop.compute "fp32todl16" ins(%u_positions {{.*}}) outs(%y : memref<6x68xf16>) vars ["c0", "c1"] extents [6, 68]
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [68, 1] layout {device_size = array<i64: 2, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 68, 1>} : memref<6x68xf16>
  %t = loop.buffer "t" "temp" stride [68, 1] : memref<6x68xf32>
  %u = loop.buffer "u" "temp" stride [68, 1] : memref<6x68xf32>
  %y = loop.buffer "y" "output" index 0 stride [68, 1] : memref<6x68xf16>
  loop.compute "convert" ins(%x : memref<6x68xf16>) outs(%t : memref<6x68xf32>) vars ["c0", "c1"] extents [6, 68] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "exp" ins(%t : memref<6x68xf32>) outs(%u : memref<6x68xf32>) vars ["c0", "c1"] extents [6, 68] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "convert" ins(%u : memref<6x68xf32>) outs(%y : memref<6x68xf16>) vars ["c0", "c1"] extents [6, 68] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
