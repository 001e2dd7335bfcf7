// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK: loop.compute "dl16tofp32" ins(%x {{.*}}) outs(%t_positions : memref<64xf32>)
// CHECK-NEXT: loop.compute "copy" ins(%t_positions : memref<64xf32>) outs(%t : memref<8xf32>) {{.*}} extents [8]
// CHECK-NEXT: return
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<8xf16>
  %t = loop.buffer "t" "output" index 0 stride [1] : memref<8xf32>
  loop.compute "convert" ins(%x : memref<8xf16>) outs(%t : memref<8xf32>) vars ["c0"] extents [8] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  return
}
