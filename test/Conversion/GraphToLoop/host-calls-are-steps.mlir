// A call on the host reads and writes whole buffers: a view is copied first. What passes only between
// host calls stays on the host, whatever its type; a host call nobody needs vanishes.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK-DAG: loop.buffer "t0" "temp" {{.*}} : memref<4x2xf16>
// CHECK-DAG: loop.buffer "h1" "host" {{.*}} : memref<4x2xf64>
// CHECK-DAG: loop.buffer "t2" "host" {{.*}} : memref<4x2xf16>
// CHECK-DAG: loop.buffer "out0" "output" {{.*}} : memref<4x2xf16>
// CHECK: loop.compute "copy" ins(%x {{.*}} outs(%t0
// CHECK: loop.host "aten._to_copy.default" ins(%t0 : memref<4x2xf16>) outs(%h1 : memref<4x2xf64>) node 1 results [] gate 3 "f64"
// CHECK: loop.host "aten.sort.default" ins(%h1 : memref<4x2xf64>) outs(%t2 : memref<4x2xf16>) node 2 results [0]
// CHECK: loop.host "aten.rand.default" ins() outs(%t3
// CHECK: loop.host "aten.sin.default" ins(%t2, %t3 :
// CHECK-NOT: aten.cos
func.func @main(%arg0: tensor<2x4xf16> {graph.layout = {device_size = array<i64: 1, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4, 1>}) -> (tensor<4x2xf16> {graph.stride = array<i64: 2, 1>}) {
  %0 = graph.call "aten.t.default"(%arg0) : (tensor<2x4xf16>) -> tensor<4x2xf16>
  %1 = graph.host "aten._to_copy.default"(%0) node 1 results [] gate 3 "f64" : (tensor<4x2xf16>) -> tensor<4x2xf64>
  %2 = graph.host "aten.sort.default"(%1) node 2 results [0] gate 1 "unknown" : (tensor<4x2xf64>) -> tensor<4x2xf16>
  %3 = graph.host "aten.rand.default"() node 3 results [] gate 1 "unknown" : () -> tensor<4x2xf16>
  %4 = graph.host "aten.sin.default"(%2, %3) node 4 results [] gate 1 "unknown" : (tensor<4x2xf16>, tensor<4x2xf16>) -> tensor<4x2xf16>
  %5 = graph.host "aten.cos.default"(%2) node 5 results [] gate 1 "unknown" : (tensor<4x2xf16>) -> tensor<4x2xf16>
  return %4 : tensor<4x2xf16>
}
