// Running the pass twice changes nothing more.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts > %t.once
// RUN: spyre-opt %t.once --spyre-loop-propagate-layouts > %t.twice
// RUN: diff %t.once %t.twice
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  %y = loop.buffer "y" "input" index 1 stride [128, 1] layout {device_size = array<i64: 2, 256, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<256x128xf16>
  %z = loop.buffer "z" "output" index 0 stride [256, 1] : memref<128x256xf16>
  loop.compute "add" ins(%x, %y : memref<128x256xf16>, memref<256x128xf16>) outs(%z : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
