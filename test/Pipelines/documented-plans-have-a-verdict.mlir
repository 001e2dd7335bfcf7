// sum(-1) of [3, 4100]: the documented passes compute 3 x 5 slices; the last stick of the reduced dimension is partial, which no part of a
// split reduction can mask. The computed plan and the verdict stand in the trace; what is emitted is legal. [3, 4096] is legal as computed.
// RUN: rm -rf %t && mkdir %t
// RUN: spyre-compile %s --planner=compat --no-lx-planning --compile-to=division --trace-decisions=%t/why.json -o %t/a.mlir
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t/why.json
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t/a.mlir
// RUN: sed -e 's/4100/4096/g' -e 's/65, 3/64, 3/' %s | spyre-compile - --planner=compat --no-lx-planning --compile-to=division --trace-decisions=%t/legal.json -o %t/b.mlir
// RUN: FileCheck %s --check-prefix=LEGAL --input-file=%t/legal.json
// WHY: "documented"{{.*}}computed c0 3, c1 5: SPYRE-E3069: {{.*}}c1
// PLAN: loop.compute "sum" {{.*}} splits [3, 1]
// LEGAL: "documented"{{.*}}computed c0 3, c1 8: legal
func.func @main(%arg0: tensor<3x4100xf16> {graph.layout = {device_size = array<i64: 65, 3, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4100, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4100, 1>}) -> (tensor<3xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.sum.dim_IntList"(%arg0) {dim = array<i64: 1>, keepdim = false} : (tensor<3x4100xf16>) -> tensor<3xf16>
  return %0 : tensor<3xf16>
}
