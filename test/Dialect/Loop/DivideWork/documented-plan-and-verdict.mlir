// The sum of [3, 4100] ends in a partial stick (G-R7). The documented passes split its 65 sticks over 5 cores, which the machine cannot
// mask: the trace has that plan and the verdict on it, and what is emitted leaves the dimension whole. [spec: work-division 15.4]
// RUN: spyre-compile %s --planner=compat --compile-to=division --trace-decisions=%t.json -o - | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.json
// RUN: sed -e 's/4100/4096/g' -e 's/array<i64: 65,/array<i64: 64,/' %s | spyre-compile - --planner=compat --compile-to=division --trace-decisions=%t.json -o - | FileCheck %s --check-prefix=WHOLE
// RUN: FileCheck %s --check-prefix=LEGAL --input-file=%t.json

// CHECK: loop.compute "sum" {{.*}} splits [3, 1]
// WHY: "documented-plan-is-illegal","detail":"c0 3, c1 5 use 15 of 32 cores: SPYRE-E3069
// WHY: "rule","detail":"5 slices of c1 are not possible on openspyre
// WHY: "fewer-cores","detail":"c0 3 use 3 of 32 cores
// WHOLE: loop.compute "sum" {{.*}} splits [3, 8]
// LEGAL-NOT: documented-plan-is-illegal
// LEGAL: "fewer-cores","detail":"c0 3, c1 8 use 24 of 32 cores
func.func @main(%x: tensor<3x4100xf16> {graph.layout = {device_size = array<i64: 65, 3, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4100, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4100, 1>}) -> (tensor<3xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.sum.dim_IntList"(%x) {dim = array<i64: 1>} : (tensor<3x4100xf16>) -> tensor<3xf16>
  return %0 : tensor<3xf16>
}
