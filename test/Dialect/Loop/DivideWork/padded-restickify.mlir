// A copy that changes the stick of [1000, 1000]: neither dimension is whole sticks, so neither is cut, and one core does it all. The
// result is a temp that only 'exp' reads: it is given 1024 rows, which cores share; with 8 the memory is as busy as with 16. An output keeps its layout.
// RUN: spyre-opt %s --spyre-loop-work-distribution | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-work-distribution --spyre-loop-work-distribution | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-work-distribution="padding=false" | FileCheck %s --check-prefix=OFF
// RUN: sed -e 's/"t" "temp"/"t" "output" index 1/' %s | spyre-opt - --spyre-loop-work-distribution | FileCheck %s --check-prefix=OFF
// RUN: spyre-opt %s --spyre-loop-span-reduction="planner=compat" --spyre-loop-work-distribution="planner=compat" | FileCheck %s --check-prefix=OFF

// CHECK: loop.buffer "t" {{.*}}device_size = array<i64: 16, 1024, 64>
// CHECK: loop.compute "copy" {{.*}} extents [1000, 1024] {{.*}} splits [1, 8]
// CHECK: loop.compute "exp" {{.*}} extents [1000, 1000]
// OFF: loop.buffer "t" {{.*}}device_size = array<i64: 16, 1000, 64>
// OFF: loop.compute "copy" {{.*}} extents [1000, 1000] {{.*}} splits [1, 1]
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1000, 1] layout {device_size = array<i64: 16, 1000, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1000, 1>} : memref<1000x1000xf16>
  %t = loop.buffer "t" "temp" stride [1000, 1] layout {device_size = array<i64: 16, 1000, 64>, format = "SEN169_FP16", stride_map = array<i64: 64000, 1, 1000>} : memref<1000x1000xf16>
  %z = loop.buffer "z" "output" index 0 stride [1000, 1] layout {device_size = array<i64: 16, 1000, 64>, format = "SEN169_FP16", stride_map = array<i64: 64000, 1, 1000>} : memref<1000x1000xf16>
  loop.compute "copy" ins(%x : memref<1000x1000xf16>) outs(%t : memref<1000x1000xf16>) vars ["c0", "c1"] extents [1000, 1000] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "exp" ins(%t : memref<1000x1000xf16>) outs(%z : memref<1000x1000xf16>) vars ["c0", "c1"] extents [1000, 1000] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
