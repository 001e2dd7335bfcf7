// The 64 columns of the result are one stick, so they cannot be cut in tiles, and they are the outermost dimension of the input: a
// core spans 161 KB of it. A copy with these 64 next to the lanes is cut along any variable; the restickify reads the copy.
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=4 span-limit-bytes=49152" | FileCheck %s

// CHECK-DAG: loop.buffer "x_near" "temp" {{.*}} layout {device_size = array<i64: 5, 4, 64, 64>
// CHECK: loop.compute "copy" ins(%x {{.*}} tiles = array<i64
// CHECK: loop.compute "copy" ins(%x_near
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [16384, 256, 1] layout {device_size = array<i64: 64, 4, 5, 64>, format = "SEN169_FP16", stride_map = array<i64: 256, 64, 16384, 1>} : memref<5x64x256xf16>
  %z = loop.buffer "z" "output" index 0 stride [16384, 64, 1] layout {device_size = array<i64: 256, 1, 5, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 16384, 1>} : memref<5x256x64xf16>
  loop.compute "copy" ins(%x : memref<5x64x256xf16>) outs(%z : memref<5x256x64xf16>) vars ["c0", "c1", "c2"] extents [5, 64, 256] reductions 0 maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>]
  return
}
