// The lanes of a topk are its rows: in the joined result six of them would share a stick with what is copied behind.
// RUN: spyre-opt %s --spyre-loop-elide-copies | FileCheck %s

// CHECK: loop.compute "topkvalue" ins(%y : {{.*}} outs(%t0 :
// CHECK: loop.compute "copy" ins(%t0 : {{.*}} outs(%out0 :
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d0 + 6, d1)>
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [2, 1] layout {device_size = array<i64: 1, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 2, 1>} {offset = 0 : i64} : memref<6x2xf16>
  %y = loop.buffer "y" "input" index 1 stride [6, 1] layout {device_size = array<i64: 1, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>} {offset = 0 : i64} : memref<6x6xf16>
  %t0 = loop.buffer "t0" "temp" stride [2, 1] : memref<6x2xf16>
  %out0 = loop.buffer "out0" "output" index 0 stride [2, 1] : memref<12x2xf16>
  loop.compute "topkvalue" ins(%y : memref<6x6xf16>) outs(%t0 : memref<6x2xf16>) vars ["c0", "c1", "c2"] extents [6, 2, 6] reductions 1 maps [#map, #map1]
  loop.compute "copy" ins(%t0 : memref<6x2xf16>) outs(%out0 : memref<12x2xf16>) vars ["c0", "c1"] extents [6, 2] reductions 0 maps [#map2, #map2] {why = "asked-for: aten.cat.default"}
  loop.compute "copy" ins(%x : memref<6x2xf16>) outs(%out0 : memref<12x2xf16>) vars ["c0", "c1"] extents [6, 2] reductions 0 maps [#map2, #map3] {why = "asked-for: aten.cat.default"}
  return
}
