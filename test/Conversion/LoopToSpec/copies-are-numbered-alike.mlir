// Two sums over rows split columns and rows, and number the partners of a sum as neighbours. A copy of x that stays in LX for both
// has its parts on the same cores: its variables are named in that order.
// RUN: spyre-opt %s --spyre-loop-work-distribution --spyre-loop-plan-lx -o %t.mlir && FileCheck %s --input-file %t.mlir
// The last check finds every core's part where its readers look for it.
// RUN: spyre-compile %t.mlir --from=division --no-cache -o %t.model
// CHECK: loop.compute "copy" {{.*}} vars ["c1", "c0"] {{.*}} splits [8, 4]
// CHECK: loop.compute "sum" {{.*}} splits [4, 8] {owners = #[[OWNERS:.*]]}
// CHECK: loop.compute "sum" {{.*}} splits [4, 8] {owners = #[[OWNERS]]}
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 1024, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<1024x256xf16>
  %y = loop.buffer "y" "output" index 0 stride [1] layout {device_size = array<i64: 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<256xf16>
  %z = loop.buffer "z" "output" index 1 stride [1] layout {device_size = array<i64: 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<256xf16>
  loop.compute "sum" ins(%x : memref<1024x256xf16>) outs(%y : memref<256xf16>) vars ["c0", "c1"] extents [256, 1024] reductions 1 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>]
  loop.compute "sum" ins(%x : memref<1024x256xf16>) outs(%z : memref<256xf16>) vars ["c0", "c1"] extents [256, 1024] reductions 1 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>]
  return
}
