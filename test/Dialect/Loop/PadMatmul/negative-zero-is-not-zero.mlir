// The constant -0.0 is not the zero that padding is filled with: it has other bits.
// RUN: spyre-opt %s --spyre-loop-pad-matmul | FileCheck %s

// CHECK: %const = loop.buffer "const" "constant" {{.*}}value = -0.0
// CHECK: %const_1 = loop.buffer "const_1" "constant" {{.*}}value = 0.0
// CHECK: loop.compute "copy" ins(%const_1 {{.*}}outs(%y_padded
func.func @main() {
  %const = loop.buffer "const" "constant" stride [] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: -1, -1>} {value = -0.000000e+00 : f64} : memref<f16>
  %x = loop.buffer "x" "input" index 0 stride [67, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 67, 1>} : memref<8x67xf16>
  %y = loop.buffer "y" "input" index 1 stride [64, 1] layout {device_size = array<i64: 1, 67, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<67x64xf16>
  %z = loop.buffer "z" "output" index 0 stride [64, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<8x64xf16>
  loop.compute "batchmatmul" ins(%x, %y : memref<8x67xf16>, memref<67x64xf16>) outs(%z : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 64, 67] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  return
}
