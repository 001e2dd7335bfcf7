// A step on the host reads the converted tensor: it gets the elements in order, in the buffer it names.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK: loop.compute "dl16tofp32" ins(%x {{.*}}) outs(%[[POSITIONS:.*]] : memref<4x128xf32>)
// CHECK: loop.compute "copy" ins(%[[POSITIONS]] {{.*}}) outs(%t0 : memref<4x128xf32>)
// CHECK: loop.host "aten.sin.default"
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<4x128xf16>
  %t0 = loop.buffer "t0" "temp" stride [128, 1] : memref<4x128xf32>
  %y = loop.buffer "y" "output" index 0 stride [128, 1] : memref<4x128xf32>
  loop.compute "convert" ins(%x : memref<4x128xf16>) outs(%t0 : memref<4x128xf32>) vars ["c0", "c1"] extents [4, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.host "aten.sin.default" ins(%t0 : memref<4x128xf32>) outs(%y : memref<4x128xf32>) node 7 results [] gate 1 "unknown"
  return
}
