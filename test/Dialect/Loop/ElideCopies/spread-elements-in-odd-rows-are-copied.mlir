// Every second of 11 rows is no device dimension: what is spread over 10 of them is copied there.
// RUN: spyre-opt %s --spyre-loop-elide-copies | FileCheck %s

// CHECK: loop.compute "exp" {{.*}} outs(%t : {{.*}} extents [5, 64]
// CHECK: loop.compute "copy" ins(%t : {{.*}}) outs(%out0 : {{.*}} extents [10, 64]
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 5, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<5x64xf16>
    %t = loop.buffer "t" "temp" stride [64, 1] : memref<10x64xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [64, 1] : memref<11x64xf16>
    loop.compute "exp" ins(%x : memref<5x64xf16>) outs(%t : memref<10x64xf16>) vars ["c0", "c1"] extents [5, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 * 2, d1)>]
    loop.compute "copy" ins(%t : memref<10x64xf16>) outs(%out0 : memref<11x64xf16>) vars ["c0", "c1"] extents [10, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    return
  }
}
