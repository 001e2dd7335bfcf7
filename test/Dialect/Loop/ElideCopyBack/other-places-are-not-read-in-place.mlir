// x.copy_(x + x.t()): a core would read what another one has overwritten.
// RUN: spyre-opt %s --spyre-loop-elide-copy-back | FileCheck %s

// CHECK: loop.compute "add" ins(%x, %x {{.*}} outs(%t :
// CHECK: loop.compute "copy" ins(%t {{.*}} outs(%x :
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<128x128xf16>
  %t = loop.buffer "t" "temp" stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<128x128xf16>
  loop.compute "add" ins(%x, %x : memref<128x128xf16>, memref<128x128xf16>) outs(%t : memref<128x128xf16>) vars ["c0", "c1"] extents [128, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "copy" ins(%t : memref<128x128xf16>) outs(%x : memref<128x128xf16>) vars ["c0", "c1"] extents [128, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
