// Conversions that the device does not have.
// RUN: spyre-opt %s --split-input-file --verify-diagnostics --spyre-loop-arrange-conversions

func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1] : memref<8xi32>
  %t = loop.buffer "t" "output" index 0 stride [1] : memref<8xf32>
  // expected-error @+1 {{SPYRE-E1206: 'convert' has one input}}
  loop.compute "convert" ins(%x : memref<8xi32>) outs(%t : memref<8xf32>) vars ["c0"] extents [8] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  return
}

// -----

func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1] : memref<8xf16>
  %t = loop.buffer "t" "output" index 0 stride [1] : memref<8xf32>
  // expected-error @+1 {{SPYRE-E1206: 'convert' has one input}}
  loop.compute "convert" ins(%x, %x : memref<8xf16>, memref<8xf16>) outs(%t : memref<8xf32>) vars ["c0"] extents [8] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  return
}
