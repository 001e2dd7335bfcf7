// 96 indices: 32 cores would have 3 each, a part of a stick. 80 indices on 7 cores: 5 cores have 16 each; on 2 cores
// 40 each would be more than a stick and not whole sticks, so the hidden dimension is split instead.
// RUN: spyre-opt %s --spyre-loop-divide-work=cores=32 | FileCheck %s --check-prefix=MANY
// RUN: spyre-opt %s --spyre-loop-divide-work=cores=2 | FileCheck %s --check-prefix=TWO

// MANY: extents [96, 128]{{.*}}splits [32, 1]
// TWO: extents [96, 128]{{.*}}splits [1, 2]
// MANY: extents [80, 128]{{.*}}splits [20, 1]
// TWO: extents [80, 128]{{.*}}splits [1, 2]
func.func @main() {
  %w = loop.buffer "w" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 50, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<50x128xf16>
  %i = loop.buffer "i" "input" index 1 stride [1] layout {device_size = array<i64: 3, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>} : memref<96xi32>
  %j = loop.buffer "j" "input" index 2 stride [1] layout {device_size = array<i64: 3, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>} : memref<80xi32>
  %y = loop.buffer "y" "output" index 0 stride [128, 1] layout {device_size = array<i64: 2, 96, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<96x128xf16>
  %z = loop.buffer "z" "output" index 1 stride [128, 1] layout {device_size = array<i64: 2, 80, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<80x128xf16>
  loop.compute "copy" ins(%i, %w : memref<96xi32>, memref<50x128xf16>) outs(%y : memref<96x128xf16>) vars ["c0", "c1"] extents [96, 128]
    reductions 0 maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    indirect [array<i64: 1, 0, 0>]
  loop.compute "copy" ins(%j, %w : memref<80xi32>, memref<50x128xf16>) outs(%z : memref<80x128xf16>) vars ["c0", "c1"] extents [80, 128]
    reductions 0 maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    indirect [array<i64: 1, 0, 0>]
  return
}
