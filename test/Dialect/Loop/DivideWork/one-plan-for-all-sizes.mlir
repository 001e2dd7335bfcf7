// Dimension 0 of x has 128, 256, ... 1024 rows in other calls: 'exp' is divided as for 1024, in slices that divide 128, in all modes and
// whatever the size of this call is. The result has the sizes of what it is made of. A dimension that is sticks, and a size that is none
// of those, are divided for themselves.
// RUN: spyre-opt %s --spyre-loop-assign-sizes | FileCheck %s --check-prefix=SIZES
// RUN: spyre-opt %s --spyre-loop-assign-sizes --spyre-loop-assign-sizes --spyre-loop-work-distribution | FileCheck %s
// RUN: sed -e 's/512/128/g' %s | spyre-opt - --spyre-loop-assign-sizes --spyre-loop-work-distribution | FileCheck %s
// RUN: sed -e 's/512/1024/g' %s | spyre-opt - --spyre-loop-assign-sizes --spyre-loop-work-distribution | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-assign-sizes --spyre-loop-span-reduction="planner=compat" --spyre-loop-work-distribution="planner=compat" | FileCheck %s
// RUN: sed -e 's/0, 128, 1024/0, 96, 960/' %s | spyre-opt - --spyre-loop-assign-sizes | FileCheck %s --check-prefix=OTHER
// RUN: sed -e 's/0, 128, 1024/1, 64, 512/' %s | spyre-opt - --spyre-loop-assign-sizes --spyre-loop-work-distribution | FileCheck %s
// RUN: sed -e 's/0, 128, 1024/0, 100, 1024/' %s | not spyre-opt - --spyre-loop-assign-sizes 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: sed -e 's/0, 128, 1024/2, 128, 1024/' %s | not spyre-opt - --spyre-loop-assign-sizes 2>&1 | FileCheck %s --check-prefix=DIM

// SIZES: loop.compute "exp" {{.*}}sizes = array<i64: 128, 1024, 0, 0>
// SIZES: loop.compute "neg" {{.*}}sizes = array<i64: 128, 1024, 0, 0>
// CHECK: loop.compute "exp" {{.*}} splits [32, 1]
// CHECK: loop.compute "neg" {{.*}} splits [32, 1]
// OTHER: loop.compute "exp"
// OTHER-NOT: sizes = array
// STEP: SPYRE-E3075: sizes in steps of 100 up to 1024: the step must divide the largest size
// DIM: SPYRE-E3145: 'x': sizes need a dimension, the least and the largest size
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 512, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} {sizes = [array<i64: 0, 128, 1024>]} : memref<512x256xf16>
  %t = loop.buffer "t" "temp" stride [256, 1] layout {device_size = array<i64: 4, 512, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<512x256xf16>
  %z = loop.buffer "z" "output" index 0 stride [256, 1] layout {device_size = array<i64: 4, 512, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<512x256xf16>
  loop.compute "exp" ins(%x : memref<512x256xf16>) outs(%t : memref<512x256xf16>) vars ["c0", "c1"] extents [512, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "neg" ins(%t : memref<512x256xf16>) outs(%z : memref<512x256xf16>) vars ["c0", "c1"] extents [512, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
