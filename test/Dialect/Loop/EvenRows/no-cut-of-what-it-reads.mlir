// Every row of t becomes the sum of itself and of its first row: the first part would change the row that the second one reads. Where
// it reads only the row it writes, it is cut.
// RUN: spyre-opt %s --spyre-loop-even-rows="extent=97 even=96" | FileCheck %s
// RUN: sed -e 's/(d0, d1) -> (0, d1)/(d0, d1) -> (d0, d1)/' %s | spyre-opt - --spyre-loop-even-rows="extent=97 even=96" | FileCheck %s --check-prefix=CUT

// CHECK: loop.compute "add" {{.*}} extents [97, 64]
// CUT: loop.compute "add" {{.*}} extents [96, 64]
// CUT-NEXT: loop.compute "add" {{.*}} extents [1, 64]
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 97, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<97x64xf16>
  loop.compute "add" ins(%x, %x : memref<97x64xf16>, memref<97x64xf16>) outs(%x : memref<97x64xf16>) vars ["c0", "c1"] extents [97, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
