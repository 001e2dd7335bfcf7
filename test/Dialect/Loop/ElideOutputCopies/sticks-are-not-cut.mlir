// Columns returned as 2 x 32 would cut the sticks of the producer: the copy stays.
// RUN: spyre-opt %s --spyre-loop-elide-output-copies | FileCheck %s

// CHECK: loop.compute "exp" {{.*}} outs(%t : {{.*}} extents [96, 64]
// CHECK: loop.compute "copy" ins(%t : {{.*}}) outs(%out0 :
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 96, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<96x64xf16>
    %t = loop.buffer "t" "temp" stride [64, 1] : memref<96x64xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [64, 32, 1] : memref<96x2x32xf16>
    loop.compute "exp" ins(%x : memref<96x64xf16>) outs(%t : memref<96x64xf16>) vars ["c0", "c1"] extents [96, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    loop.compute "copy" ins(%t : memref<96x64xf16>) outs(%out0 : memref<96x2x32xf16>) vars ["c0", "c1", "c2"] extents [96, 2, 32] reductions 0 maps [affine_map<(d0, d1, d2) -> (d0, d1 * 32 + d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
    return
  }
}
