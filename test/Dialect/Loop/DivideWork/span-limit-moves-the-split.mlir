// [128, 256] in device order [4 tiles, 128 rows, stick]: 128 rows divide best, but then each core walks all four tiles, 384 + 32
// sticks. With a span of 16,384 bytes (128 sticks) the tiles must be split first.
// RUN: spyre-opt %s --spyre-loop-divide-work="cores=4" | FileCheck %s --check-prefix=WIDE
// RUN: spyre-opt %s --spyre-loop-divide-work="cores=4 span-limit-bytes=16384" | FileCheck %s --check-prefix=NARROW
// RUN: not spyre-opt %s --spyre-loop-divide-work="cores=4 span-limit-bytes=1024" 2>&1 | FileCheck %s --check-prefix=NONE

// WIDE: splits [4, 1]
// NARROW: splits [1, 4]
// NONE: SPYRE-E3003: 'exp' over extents [128, 256]: with every split over 4 cores a core touches more than 1024 bytes of DDR for one tensor (at least 16384)
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  %z = loop.buffer "z" "output" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  loop.compute "exp" ins(%x : memref<128x256xf16>) outs(%z : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
