// One core with 2,048 bytes: columns one tile at a time (16,384 bytes), then 16 rows at a time.
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=1 span-limit-bytes=2048" | FileCheck %s

// CHECK: loop.compute "exp" {{.*}} extents [128, 256] {{.*}}, tiles = array<i64: 8, 4>}
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  %z = loop.buffer "z" "output" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  loop.compute "exp" ins(%x : memref<128x256xf16>) outs(%z : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
