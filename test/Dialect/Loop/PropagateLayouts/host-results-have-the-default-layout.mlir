// What a host step writes has the default layout, and an operation that needs another gets a copy;
// what it reads may have any: the transposed sum stays as it is. A host value has none.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: loop.buffer "h" "host" stride [128, 1] :
// CHECK: loop.buffer "b" "temp" stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>}
// CHECK: loop.host "aten.double"
// CHECK: loop.host "aten.sin.default"
// CHECK: loop.compute "copy" ins(%b
// CHECK: loop.compute "add"
#id = affine_map<(d0, d1) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<128x128xf16>
  %h = loop.buffer "h" "host" stride [128, 1] : memref<128x128xf64>
  %b = loop.buffer "b" "temp" stride [128, 1] : memref<128x128xf16>
  %z = loop.buffer "z" "output" index 0 stride [128, 1] : memref<128x128xf16>
  loop.host "aten.double" ins(%x : memref<128x128xf16>) outs(%h : memref<128x128xf64>) node 6 results [] gate 3 "f64"
  loop.host "aten.sin.default" ins(%h : memref<128x128xf64>) outs(%b : memref<128x128xf16>) node 7 results [] gate 1 "unknown"
  loop.compute "add" ins(%x, %b : memref<128x128xf16>, memref<128x128xf16>) outs(%z : memref<128x128xf16>) vars ["c0", "c1"] extents [128, 128] reductions 0 maps [#id, #tr, #id]
  return
}
