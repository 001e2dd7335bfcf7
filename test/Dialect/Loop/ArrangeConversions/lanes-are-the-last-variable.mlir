// The input has its sticks along dimension 0: the conversion follows them, and its variables are reordered.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-arrange-conversions --spyre-loop-propagate-layouts | FileCheck %s

// CHECK-DAG: [[SWAP:#map[0-9]*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-NOT: "copy"
// CHECK: loop.compute "dl16tofp32" ins(%x {{.*}}) outs(%t_positions : memref<128x6xf32>) vars ["c0", "c1"] extents [6, 128] reductions 0 maps {{\[}}[[SWAP]], [[SWAP]]]
// CHECK: loop.compute "fp32todl16" ins(%t_positions
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [6, 1] layout {device_size = array<i64: 2, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 384, 1, 6>} : memref<128x6xf16>
  %t = loop.buffer "t" "temp" stride [6, 1] : memref<128x6xf32>
  %y = loop.buffer "y" "output" index 0 stride [6, 1] : memref<128x6xf16>
  loop.compute "convert" ins(%x : memref<128x6xf16>) outs(%t : memref<128x6xf32>) vars ["c0", "c1"] extents [128, 6] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "convert" ins(%t : memref<128x6xf32>) outs(%y : memref<128x6xf16>) vars ["c0", "c1"] extents [128, 6] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
