// Two sums over rows split columns and rows, and number the partners of a sum as neighbours. A copy of x that stays in LX for both
// has its parts on the same cores: its variables are named in that order.
// RUN: spyre-compile %s --from=layout --no-cache --compile-to=division -o - | FileCheck %s
// RUN: spyre-compile %s --from=layout --no-cache --explain - -o %t | FileCheck %s --check-prefix=WHY
// CHECK: #[[OWNERS:.*]] = affine_map<(d0) -> (d0 floordiv 8, d0 mod 8)>
// CHECK: loop.compute "copy" {{.*}} vars ["c1", "c0"] {{.*}} splits [8, 4]
// CHECK: loop.compute "sum" {{.*}} splits [4, 8] {owners = #[[OWNERS]]}
// CHECK: loop.compute "sum" {{.*}} splits [4, 8] {owners = #[[OWNERS]]}
// WHY: x: input-clone
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 1024, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<1024x256xf16>
  %y = loop.buffer "y" "output" index 0 stride [1] layout {device_size = array<i64: 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<256xf16>
  %z = loop.buffer "z" "output" index 1 stride [1] layout {device_size = array<i64: 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<256xf16>
  loop.compute "sum" ins(%x : memref<1024x256xf16>) outs(%y : memref<256xf16>) vars ["c0", "c1"] extents [256, 1024] reductions 1 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>]
  loop.compute "sum" ins(%x : memref<1024x256xf16>) outs(%z : memref<256xf16>) vars ["c0", "c1"] extents [256, 1024] reductions 1 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>]
  return
}
