// A transposed result that is also read: the reader follows, in program order.
// RUN: spyre-opt %s --spyre-loop-elide-output-copies | FileCheck %s

// CHECK-DAG: #[[SAME:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[TURNED:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK: loop.compute "exp" ins(%x : {{.*}}) outs(%out0 : {{.*}}) {{.*}} maps [#[[SAME]], #[[TURNED]]]
// CHECK-NEXT: loop.compute "neg" ins(%out0 : {{.*}}) outs(%out1 : {{.*}}) {{.*}} maps [#[[TURNED]], #[[SAME]]]
// CHECK-NOT: loop.compute
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 96, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<96x64xf16>
    %t = loop.buffer "t" "temp" stride [64, 1] : memref<96x64xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [96, 1] : memref<64x96xf16>
    %out1 = loop.buffer "out1" "output" index 1 stride [64, 1] : memref<96x64xf16>
    loop.compute "exp" ins(%x : memref<96x64xf16>) outs(%t : memref<96x64xf16>) vars ["c0", "c1"] extents [96, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    loop.compute "neg" ins(%t : memref<96x64xf16>) outs(%out1 : memref<96x64xf16>) vars ["c0", "c1"] extents [96, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    loop.compute "copy" ins(%t : memref<96x64xf16>) outs(%out0 : memref<64x96xf16>) vars ["c0", "c1"] extents [64, 96] reductions 0 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
    return
  }
}
