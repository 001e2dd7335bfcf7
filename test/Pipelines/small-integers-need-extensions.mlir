// A machine without our extensions does not read integers of 8 bits: the sum is the host's (gate 5). Ours has it whole.
// RUN: spyre-compile %s -o %t.spyre --device=spyre && FileCheck %s --input-file=%t.spyre/model.json
// RUN: spyre-compile %s -o %t.ours --device=openspyre && FileCheck %s --check-prefix=OURS --input-file=%t.ours/model.json
// CHECK: "kind": "cpu"
// CHECK: "gate": 5
// CHECK: an extension this machine does not have
// OURS-NOT: "kind": "cpu"
func.func @main(%arg0: tensor<3x130xi8> {graph.layout = {device_size = array<i64: 2, 3, 128>, format = "SENINT8", stride_map = array<i64: 128, 130, 1>}, graph.name = "in0", graph.offset = 0 : i64, graph.stride = array<i64: 130, 1>}) -> (tensor<3x130xi8> {graph.stride = array<i64: 130, 1>}) {
  %0 = graph.call "aten.add.Tensor"(%arg0, %arg0) {node = 0 : i64} : (tensor<3x130xi8>, tensor<3x130xi8>) -> tensor<3x130xi8>
  return %0 : tensor<3x130xi8>
}
