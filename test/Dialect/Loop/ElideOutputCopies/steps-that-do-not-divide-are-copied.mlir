// 13 windows of 6 out of 79 rows: split, the loop of the first copy would walk 79 rows in steps of 6.
// RUN: spyre-opt %s --spyre-loop-elide-output-copies | FileCheck %s

// CHECK: loop.compute "copy" ins(%x : {{.*}}) outs(%t : {{.*}} extents [78]
// CHECK: loop.compute "copy" ins(%t : {{.*}}) outs(%out0 : {{.*}} extents [13, 6]
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [1] layout {device_size = array<i64: 1, 79, 64>, format = "SEN169_FP16", stride_map = array<i64: -1, 1, -1>} {offset = 0 : i64} : memref<79xf16>
    %t = loop.buffer "t" "temp" stride [1] : memref<78xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [6, 1] : memref<13x6xf16>
    loop.compute "copy" ins(%x : memref<79xf16>) outs(%t : memref<78xf16>) vars ["c0"] extents [78] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
    loop.compute "copy" ins(%t : memref<78xf16>) outs(%out0 : memref<13x6xf16>) vars ["c0", "c1"] extents [13, 6] reductions 0 maps [affine_map<(d0, d1) -> (d0 * 6 + d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    return
  }
}
