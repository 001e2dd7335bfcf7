// Padding positions lie between the elements: only a tail can be masked.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK-DAG: [[WIDE:#map[0-9]*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 64 + d3 * 32 + d2 * 8 + d4)>
// CHECK-DAG: [[DENSE:#map[0-9]*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 64 + d2 * 16 + d3 * 8 + d4)>
// CHECK: loop.compute "dl16tofp32" ins(%x {{.*}}) outs(%t_positions : memref<6x128xf32>)
// CHECK-NEXT: loop.compute "copy" ins(%t_positions : memref<6x128xf32>) outs(%t_standard : memref<6x128xf32>) {{.*}} extents [6, 2, 4, 2, 8] reductions 0 maps {{\[}}[[WIDE]], [[DENSE]]]
// CHECK-NEXT: loop.compute "sum" ins(%t_standard : memref<6x128xf32>) outs(%s : memref<6xf32>) {{.*}} extents [6, 68]
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [68, 1] layout {device_size = array<i64: 2, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 68, 1>} : memref<6x68xf16>
  %t = loop.buffer "t" "temp" stride [68, 1] : memref<6x68xf32>
  %s = loop.buffer "s" "output" index 0 stride [1] : memref<6xf32>
  loop.compute "convert" ins(%x : memref<6x68xf16>) outs(%t : memref<6x68xf32>) vars ["c0", "c1"] extents [6, 68] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "sum" ins(%t : memref<6x68xf32>) outs(%s : memref<6xf32>) vars ["c0", "c1"] extents [6, 68] reductions 1 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]
  return
}
