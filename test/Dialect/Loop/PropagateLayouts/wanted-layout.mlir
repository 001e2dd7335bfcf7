// A result that is cheaper to compute in another layout than its caller wants is copied at the end, under its own name.
// RUN: spyre-opt %s --spyre-graph-to-loop --spyre-loop-propagate-layouts | FileCheck %s
// RUN: sed -e "s/tensor<16xf16> {graph.layout = {[^}]*}, /tensor<16xf16> {/" %s | spyre-opt - --spyre-graph-to-loop --spyre-loop-propagate-layouts | FileCheck %s --check-prefix=FREE
// RUN: sed -e "s/stride_map = array<i64: 64, 1>}/stride_map = array<i64: 64, 1>, arrangement = \"DL16_TO_FP32\"}/" %s | not spyre-opt - --spyre-graph-verify 2>&1 | FileCheck %s --check-prefix=ORDER

// CHECK: loop.buffer "out0_computed" "temp" {{.*}}stride_map = array<i64: -1, 1, -1>
// CHECK: loop.buffer "out0" "output" index 0 stride [1] layout {device_size = array<i64: 1, 64>
// CHECK: loop.compute "max" {{.*}}outs(%out0_computed
// CHECK: loop.compute "copy" ins(%out0_computed {{.*}}outs(%out0 {{.*}}why = "layout-wanted:
// FREE: loop.compute "max" {{.*}}outs(%out0
// FREE-NOT: "copy"
// ORDER: SPYRE-E2009: result 0: its elements are arranged as DL16_TO_FP32 inside sticks
func.func @main(%arg0: tensor<16x64xf16> {graph.layout = {device_size = array<i64: 1, 16, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 64, 1>}) -> (tensor<16xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.amax.default"(%arg0) {dim = array<i64: 1>, keepdim = false} : (tensor<16x64xf16>) -> tensor<16xf16>
  return %0 : tensor<16xf16>
}
