// Loop IR prints and parses back to itself: a matmul as the conversion makes it, and all buffer kinds.
// RUN: spyre-opt %s | spyre-opt | FileCheck %s

// CHECK-LABEL: func.func @main()
func.func @main() {
  // CHECK: %x = loop.buffer "x" "input" index 0 stride [8, 1] : memref<4x8xf16>
  %x = loop.buffer "x" "input" index 0 stride [8, 1] : memref<4x8xf16>
  %y = loop.buffer "y" "input" index 1 stride [2, 1] : memref<8x2xf16>
  // CHECK: %one = loop.buffer "one" "constant" stride [] {value = 1.000000e+00 : f64} : memref<f16>
  %one = loop.buffer "one" "constant" stride [] {value = 1.0 : f64} : memref<f16>
  // CHECK: %t = loop.buffer "t" "temp" stride [2, 1] {pool_offset = 128 : i64} : memref<4x2xf16>
  %t = loop.buffer "t" "temp" stride [2, 1] {pool_offset = 128 : i64} : memref<4x2xf16>
  %z = loop.buffer "z" "output" index 0 stride [2, 1] : memref<4x2xf16>
  // CHECK: loop.compute "batchmatmul" ins(%x, %y : memref<4x8xf16>, memref<8x2xf16>) outs(%t : memref<4x2xf16>) vars ["m", "n", "k"] extents [4, 2, 8] reductions 1 maps [{{.*}}] splits [2, 1, 1]
  loop.compute "batchmatmul" ins(%x, %y : memref<4x8xf16>, memref<8x2xf16>) outs(%t : memref<4x2xf16>) vars ["m", "n", "k"] extents [4, 2, 8] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] splits [2, 1, 1]
  // CHECK: loop.compute "add"
  loop.compute "add" ins(%t, %one : memref<4x2xf16>, memref<f16>) outs(%z : memref<4x2xf16>) vars ["m", "n"] extents [4, 2] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
