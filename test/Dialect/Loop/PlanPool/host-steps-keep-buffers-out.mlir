// Buffers that a host step reads or writes are not in the pool; those around it are.
// RUN: spyre-opt %s --spyre-loop-plan-pool | FileCheck %s

// CHECK: loop.buffer "a"
// CHECK-SAME: pool_offset = 0 : i64
// CHECK: loop.buffer "b"
// CHECK-NOT: pool_offset
// CHECK: loop.buffer "c"
// CHECK-NOT: pool_offset
// CHECK: loop.buffer "z"
#id = affine_map<(d0) -> (d0)>
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<64xf16>
  %a = loop.buffer "a" "temp" stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<64xf16>
  %b = loop.buffer "b" "temp" stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<64xf16>
  %c = loop.buffer "c" "temp" stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<64xf16>
  %z = loop.buffer "z" "output" index 0 stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<64xf16>
  loop.compute "exp" ins(%x : memref<64xf16>) outs(%a : memref<64xf16>) vars ["c0"] extents [64] reductions 0 maps [#id, #id]
  loop.compute "exp" ins(%a : memref<64xf16>) outs(%b : memref<64xf16>) vars ["c0"] extents [64] reductions 0 maps [#id, #id]
  loop.host "aten.sin.default" ins(%b : memref<64xf16>) outs(%c : memref<64xf16>) node 7 results [] gate 1 "unknown"
  loop.compute "exp" ins(%c : memref<64xf16>) outs(%z : memref<64xf16>) vars ["c0"] extents [64] reductions 0 maps [#id, #id]
  return
}
