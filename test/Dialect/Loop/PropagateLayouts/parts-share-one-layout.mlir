// Two parts of z: 46 elements, which end inside a stick of 32, and 22 that begin there. Both are written in the one layout
// that suits both, one element per stick; z is not copied to another layout between them.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: loop.buffer "z" "temp" stride [1] layout {device_size = array<i64: 1, 68, 32>
// CHECK: loop.compute "copy" ins({{.*}}) outs(%z : memref
// CHECK-NOT: ins(%z
// CHECK: loop.compute "copy" ins({{.*}}) outs(%z : memref
// CHECK: loop.compute "exp" ins(%{{.*}}) outs(%w
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1] layout {device_size = array<i64: 2, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 1>} : memref<46xf32>
  %y = loop.buffer "y" "input" index 1 stride [1] layout {device_size = array<i64: 1, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 1>} : memref<22xf32>
  %z = loop.buffer "z" "temp" stride [1] : memref<68xf32>
  %w = loop.buffer "w" "output" index 0 stride [1] : memref<68xf32>
  loop.compute "copy" ins(%x : memref<46xf32>) outs(%z : memref<68xf32>) vars ["c0"] extents [46] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  loop.compute "copy" ins(%y : memref<22xf32>) outs(%z : memref<68xf32>) vars ["c0"] extents [22] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0 + 46)>]
  loop.compute "exp" ins(%z : memref<68xf32>) outs(%w : memref<68xf32>) vars ["c0"] extents [68] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  return
}
