// Heads of 16 columns, returned side by side: a stick would hold columns of four heads, which no matmul writes.
// RUN: spyre-opt %s --spyre-loop-elide-copies | FileCheck %s

// CHECK: loop.compute "batchmatmul" {{.*}} outs(%t :
// CHECK: loop.compute "copy" ins(%t : {{.*}}) outs(%out0 :
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [512, 64, 1] layout {device_size = array<i64: 8, 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 512, 1>} {offset = 0 : i64} : memref<4x8x64xf16>
    %y = loop.buffer "y" "input" index 1 stride [1024, 16, 1] layout {device_size = array<i64: 64, 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 16, 64, 1024, 1>} {offset = 0 : i64} : memref<4x64x16xf16>
    %t = loop.buffer "t" "temp" stride [128, 16, 1] : memref<4x8x16xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [64, 1] : memref<8x64xf16>
    loop.compute "batchmatmul" ins(%x, %y : memref<4x8x64xf16>, memref<4x64x16xf16>) outs(%t : memref<4x8x16xf16>) vars ["c0", "c1", "c2", "c3"] extents [4, 8, 16, 64] reductions 1 maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
    loop.compute "copy" ins(%t : memref<4x8x16xf16>) outs(%out0 : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 4, 16] reductions 0 maps [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1 * 16 + d2)>]
    return
  }
}
