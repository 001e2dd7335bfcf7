// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK-NOT: "copy"
// CHECK: loop.compute "sum" ins(%t_positions : memref<6x256xf32>) outs(%s : memref<6xf32>)
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<6x256xf16>
  %t = loop.buffer "t" "temp" stride [256, 1] : memref<6x256xf32>
  %s = loop.buffer "s" "output" index 0 stride [1] : memref<6xf32>
  loop.compute "convert" ins(%x : memref<6x256xf16>) outs(%t : memref<6x256xf32>) vars ["c0", "c1"] extents [6, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "sum" ins(%t : memref<6x256xf32>) outs(%s : memref<6xf32>) vars ["c0", "c1"] extents [6, 256] reductions 1 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]
  return
}
