// Each copy with its reason, bytes (read and written, whole sticks) and time; the input that is only read in another
// layout, with the order to give it in; the step on the CPU; the sums.
// RUN: spyre-opt %s --spyre-loop-explain 2>&1 >/dev/null | FileCheck %s

// CHECK: "subject":"restickify y -> y_restick","taken":true,"reason":"stick-differs","detail":"'y', input 1, lies elsewhere","location":"copies-host-steps-and-layouts.mlir:15","numbers":{"bytes":65536,"ns":429}
// CHECK: "subject":"host aten.sin.default","taken":true,"reason":"host-step","detail":"runs on the CPU: not in the op table",{{.*}}"numbers":{"bytes":65536,"gate":1}
// CHECK: "stage":"layout","subject":"y","taken":false,"reason":"input-layout-differs","detail":"input 1 is only read with its sticks along dimension 0; give it with dim_order=[1, 0] to save the copy"
// CHECK: "subject":"total","taken":true,"reason":"total","detail":"1 of 2 device operations only move data: 65536 of 163840 bytes in DDR","numbers":{"operations":2,"copies":1,"host_steps":1,"bytes":163840,"moved_bytes":65536,"moved_ns":429}
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<128x128xf16>
  %y = loop.buffer "y" "input" index 1 stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<128x128xf16>
  %y_restick = loop.buffer "y_restick" "temp" stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 8192, 1, 128>} : memref<128x128xf16>
  %t = loop.buffer "t" "temp" stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<128x128xf16>
  %z = loop.buffer "z" "output" index 0 stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<128x128xf16>
  loop.compute "copy" ins(%y : memref<128x128xf16>) outs(%y_restick : memref<128x128xf16>) vars ["c0", "c1"] extents [128, 128] reductions 0
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {why = "stick-differs: 'y', input 1, lies elsewhere"}
  loop.compute "add" ins(%x, %y_restick : memref<128x128xf16>, memref<128x128xf16>) outs(%t : memref<128x128xf16>) vars ["c0", "c1"]
    extents [128, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.host "aten.sin.default" ins(%t : memref<128x128xf16>) outs(%z : memref<128x128xf16>) node 0 results [] gate 1 "not in the op table"
  return
}
