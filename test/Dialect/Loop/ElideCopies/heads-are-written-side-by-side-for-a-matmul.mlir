// Heads of whole sticks, side by side in a temporary that the next matmul reduces over: the first one writes them there.
// RUN: spyre-opt %s --spyre-loop-elide-copies | FileCheck %s

// CHECK: [[SIDE:#map[0-9]*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0 * 8 + d2, d1 * 128 + d3)>
// CHECK: loop.compute "batchmatmul" {{.*}} outs(%u :{{.*}} extents [2, 4, 8, 128, 64] {{.*}}, [[SIDE]]]
// CHECK-NOT: loop.compute "copy"
// CHECK: loop.compute "batchmatmul" ins(%u, %w
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [2048, 512, 64, 1] layout {device_size = array<i64: 8, 1, 4, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 512, 2048, 1>} {offset = 0 : i64} : memref<2x4x8x64xf16>
    %y = loop.buffer "y" "input" index 1 stride [32768, 8192, 128, 1] layout {device_size = array<i64: 64, 2, 4, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 128, 64, 8192, 32768, 1>} {offset = 0 : i64} : memref<2x4x64x128xf16>
    %w = loop.buffer "w" "input" index 2 stride [64, 1] layout {device_size = array<i64: 1, 512, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<512x64xf16>
    %t = loop.buffer "t" "temp" stride [4096, 1024, 128, 1] : memref<2x4x8x128xf16>
    %u = loop.buffer "u" "temp" stride [512, 1] : memref<16x512xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [64, 1] : memref<16x64xf16>
    loop.compute "batchmatmul" ins(%x, %y : memref<2x4x8x64xf16>, memref<2x4x64x128xf16>) outs(%t : memref<2x4x8x128xf16>) vars ["c0", "c1", "c2", "c3", "c4"] extents [2, 4, 8, 128, 64] reductions 1 maps [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>]
    loop.compute "copy" ins(%t : memref<2x4x8x128xf16>) outs(%u : memref<16x512xf16>) vars ["c0", "c1", "c2", "c3"] extents [2, 8, 4, 128] reductions 0 maps [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0 * 8 + d1, d2 * 128 + d3)>]
    loop.compute "batchmatmul" ins(%u, %w : memref<16x512xf16>, memref<512x64xf16>) outs(%out0 : memref<16x64xf16>) vars ["c0", "c1", "c2"] extents [16, 64, 512] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
    return
  }
}
