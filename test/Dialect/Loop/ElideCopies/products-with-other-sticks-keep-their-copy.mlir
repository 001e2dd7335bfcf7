// Two products in one buffer, the second transposed: the sticks of a product lie along its columns, so only one of them
// can be written in place.
// RUN: spyre-opt %s --spyre-loop-elide-copies | FileCheck %s

// CHECK: loop.compute "batchmatmul" ins(%a, %b {{.*}} outs(%out0 :
// CHECK: loop.compute "batchmatmul" ins(%c, %d {{.*}} outs(%u :
// CHECK: loop.compute "copy" ins(%u : {{.*}} outs(%out0 :
module {
  func.func @main() {
    %a = loop.buffer "a" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<64x64xf16>
    %b = loop.buffer "b" "input" index 1 stride [64, 1] layout {device_size = array<i64: 1, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<64x64xf16>
    %c = loop.buffer "c" "input" index 2 stride [64, 1] layout {device_size = array<i64: 1, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<64x64xf16>
    %d = loop.buffer "d" "input" index 3 stride [64, 1] layout {device_size = array<i64: 1, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<64x64xf16>
    %t = loop.buffer "t" "temp" stride [64, 1] : memref<64x64xf16>
    %u = loop.buffer "u" "temp" stride [64, 1] : memref<64x64xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [128, 1] : memref<64x128xf16>
    loop.compute "batchmatmul" ins(%a, %b : memref<64x64xf16>, memref<64x64xf16>) outs(%t : memref<64x64xf16>) vars ["c0", "c1", "c2"] extents [64, 64, 64] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
    loop.compute "batchmatmul" ins(%c, %d : memref<64x64xf16>, memref<64x64xf16>) outs(%u : memref<64x64xf16>) vars ["c0", "c1", "c2"] extents [64, 64, 64] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
    loop.compute "copy" ins(%t : memref<64x64xf16>) outs(%out0 : memref<64x128xf16>) vars ["c0", "c1"] extents [64, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    loop.compute "copy" ins(%u : memref<64x64xf16>) outs(%out0 : memref<64x128xf16>) vars ["c0", "c1"] extents [64, 64] reductions 0 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1 + 64)>]
    return
  }
}
