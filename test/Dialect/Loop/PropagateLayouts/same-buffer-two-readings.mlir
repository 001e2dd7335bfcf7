// a + a.t(): only the transposed reading is redirected to the copy, the other one keeps the buffer.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: loop.compute "copy" ins(%a : {{.*}}) outs(%a_restick
// CHECK: loop.compute "add" ins(%a, %a_restick
func.func @main() {
  %a = loop.buffer "a" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<128x128xf16>
  %z = loop.buffer "z" "output" index 0 stride [128, 1] : memref<128x128xf16>
  loop.compute "add" ins(%a, %a : memref<128x128xf16>, memref<128x128xf16>) outs(%z : memref<128x128xf16>) vars ["c0", "c1"] extents [128, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
