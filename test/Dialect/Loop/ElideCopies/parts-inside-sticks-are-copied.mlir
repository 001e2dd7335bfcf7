// The second part begins inside of a stick: both copies stay, since a stick is written as a whole.
// RUN: spyre-opt %s --spyre-loop-elide-copies | FileCheck %s

// CHECK-COUNT-2: loop.compute "copy"
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 96, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} {offset = 0 : i64} : memref<96x64xf16>
    %a = loop.buffer "a" "temp" stride [50, 1] : memref<96x50xf16>
    %b = loop.buffer "b" "temp" stride [64, 1] : memref<96x64xf16>
    %out0 = loop.buffer "out0" "output" index 0 stride [114, 1] : memref<96x114xf16>
    loop.compute "exp" ins(%x : memref<96x64xf16>) outs(%a : memref<96x50xf16>) vars ["c0", "c1"] extents [96, 50] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    loop.compute "neg" ins(%x : memref<96x64xf16>) outs(%b : memref<96x64xf16>) vars ["c0", "c1"] extents [96, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    loop.compute "copy" ins(%a : memref<96x50xf16>) outs(%out0 : memref<96x114xf16>) vars ["c0", "c1"] extents [96, 50] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    loop.compute "copy" ins(%b : memref<96x64xf16>) outs(%out0 : memref<96x114xf16>) vars ["c0", "c1"] extents [96, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1 + 50)>]
    return
  }
}
