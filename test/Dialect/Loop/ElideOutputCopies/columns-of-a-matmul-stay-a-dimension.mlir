// A matmul with one column, returned without that dimension: its lanes are named by the column, so the copy stays.
// RUN: spyre-opt %s --spyre-loop-elide-output-copies | FileCheck %s

// CHECK: loop.compute "batchmatmul" {{.*}} outs(%t :
// CHECK: loop.compute "copy" ins(%t : {{.*}}) outs(%out0 :
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 96, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<96x64xf16>
    %y = loop.buffer "y" "input" index 1 stride [1, 1] layout {device_size = array<i64: 1, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: -1, 1, -1>} {offset = 0 : i64} : memref<64x1xf16>
    %t = loop.buffer "t" "temp" stride [1, 1] : memref<96x1xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [1] : memref<96xf16>
    loop.compute "batchmatmul" ins(%x, %y : memref<96x64xf16>, memref<64x1xf16>) outs(%t : memref<96x1xf16>) vars ["c0", "c1", "c2"] extents [96, 1, 64] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
    loop.compute "copy" ins(%t : memref<96x1xf16>) outs(%out0 : memref<96xf16>) vars ["c0"] extents [96] reductions 0 maps [affine_map<(d0) -> (d0, 0)>, affine_map<(d0) -> (d0)>]
    return
  }
}
