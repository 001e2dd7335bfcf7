// Heads of 32 columns: a stick of the temporary holds two heads, which no matmul writes.
// RUN: spyre-opt %s --spyre-loop-elide-copies | FileCheck %s

// CHECK: loop.compute "batchmatmul" {{.*}} outs(%t :
// CHECK: loop.compute "copy" ins(%t : {{.*}}) outs(%u :
// CHECK: loop.compute "batchmatmul" ins(%u, %w
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [2048, 512, 64, 1] layout {device_size = array<i64: 8, 1, 4, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 512, 2048, 1>} {offset = 0 : i64} : memref<2x4x8x64xf16>
    %y = loop.buffer "y" "input" index 1 stride [8192, 2048, 32, 1] layout {device_size = array<i64: 64, 1, 4, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 32, 64, 2048, 8192, 1>} {offset = 0 : i64} : memref<2x4x64x32xf16>
    %w = loop.buffer "w" "input" index 2 stride [64, 1] layout {device_size = array<i64: 1, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<128x64xf16>
    %t = loop.buffer "t" "temp" stride [1024, 256, 32, 1] : memref<2x4x8x32xf16>
    %u = loop.buffer "u" "temp" stride [128, 1] : memref<16x128xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [64, 1] : memref<16x64xf16>
    loop.compute "batchmatmul" ins(%x, %y : memref<2x4x8x64xf16>, memref<2x4x64x32xf16>) outs(%t : memref<2x4x8x32xf16>) vars ["c0", "c1", "c2", "c3", "c4"] extents [2, 4, 8, 32, 64] reductions 1 maps [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>]
    loop.compute "copy" ins(%t : memref<2x4x8x32xf16>) outs(%u : memref<16x128xf16>) vars ["c0", "c1", "c2", "c3"] extents [2, 8, 4, 32] reductions 0 maps [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0 * 8 + d1, d2 * 32 + d3)>]
    loop.compute "batchmatmul" ins(%u, %w : memref<16x128xf16>, memref<128x64xf16>) outs(%out0 : memref<16x64xf16>) vars ["c0", "c1", "c2"] extents [16, 64, 128] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
    return
  }
}
