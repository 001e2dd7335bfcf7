// A converted matrix times a native fp32 row: the row is brought in the order of the matrix, and .half() undoes both.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK: loop.compute "dl16tofp32" ins(%x {{.*}}) outs(%t_positions
// CHECK-NOT: ins(%t_positions
// CHECK: loop.compute "copy" ins(%w {{.*}})
// CHECK: outs(%w_positions : memref<256xf32>)
// CHECK: loop.compute "mul" ins(%t_positions, %w_positions : {{.*}}) outs(%u_positions
// CHECK-NEXT: loop.compute "fp32todl16" ins(%u_positions
// CHECK-NEXT: return
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<6x256xf16>
  %w = loop.buffer "w" "input" index 1 stride [1] layout {device_size = array<i64: 8, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 1>} : memref<256xf32>
  %t = loop.buffer "t" "temp" stride [256, 1] : memref<6x256xf32>
  %u = loop.buffer "u" "temp" stride [256, 1] : memref<6x256xf32>
  %y = loop.buffer "y" "output" index 0 stride [256, 1] : memref<6x256xf16>
  loop.compute "convert" ins(%x : memref<6x256xf16>) outs(%t : memref<6x256xf32>) vars ["c0", "c1"] extents [6, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "mul" ins(%t, %w : memref<6x256xf32>, memref<256xf32>) outs(%u : memref<6x256xf32>) vars ["c0", "c1"] extents [6, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "convert" ins(%u : memref<6x256xf32>) outs(%y : memref<6x256xf16>) vars ["c0", "c1"] extents [6, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
