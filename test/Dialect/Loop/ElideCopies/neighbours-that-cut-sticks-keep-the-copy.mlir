// The first part is a whole stick, its neighbours meet inside of one: how they are written decides the layout, so the copy
// of the first part stays, too.
// RUN: spyre-opt %s --spyre-loop-elide-copies | FileCheck %s

// CHECK: loop.compute "exp" {{.*}} outs(%t :
// CHECK: loop.compute "copy" ins(%t : {{.*}}) outs(%out0 :
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 14, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<14x64xf16>
    %t = loop.buffer "t" "temp" stride [64, 1] : memref<14x64xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [118, 1] : memref<14x118xf16>
    loop.compute "exp" ins(%x : memref<14x64xf16>) outs(%t : memref<14x64xf16>) vars ["c0", "c1"] extents [14, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    loop.compute "copy" ins(%t : memref<14x64xf16>) outs(%out0 : memref<14x118xf16>) vars ["c0", "c1"] extents [14, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    loop.compute "copy" ins(%x : memref<14x64xf16>) outs(%out0 : memref<14x118xf16>) vars ["c0", "c1"] extents [14, 16] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1 + 64)>]
    loop.compute "copy" ins(%x : memref<14x64xf16>) outs(%out0 : memref<14x118xf16>) vars ["c0", "c1"] extents [14, 38] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1 + 80)>]
    return
  }
}
