// The sum along 256 columns touches all four tiles of a row's core: rows can be tiled, columns cannot. With less than the span of
// one row in x, the rows are copied to where their four sticks are neighbours. With less than four sticks nothing helps, and the
// division says so.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts --spyre-loop-work-distribution="cores=1 span-limit-bytes=53248" | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-propagate-layouts --spyre-loop-work-distribution="cores=1 span-limit-bytes=1024" | FileCheck %s --check-prefix=NEAR
// RUN: not spyre-opt %s --spyre-loop-propagate-layouts --spyre-loop-work-distribution="cores=1 span-limit-bytes=256" 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: loop.compute "sum" {{.*}}, tiles = array<i64: {{[0-9]+}}, 1>}
// NEAR: loop.buffer "x_near" {{.*}}device_size = array<i64: 128, 4, 64>
// NEAR: loop.compute "sum" ins(%x_near
// NONE: SPYRE-E3065: 'sum' over c0 128, c1 256: no even division {{.*}} and no tiling of its result helps
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  %z = loop.buffer "z" "output" index 0 stride [1] : memref<128xf16>
  loop.compute "sum" ins(%x : memref<128x256xf16>) outs(%z : memref<128xf16>) vars ["c0", "c1"] extents [128, 256] reductions 1 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]
  return
}
