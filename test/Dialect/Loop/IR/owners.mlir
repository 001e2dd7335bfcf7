// RUN: spyre-opt %s --split-input-file --verify-diagnostics

%x = loop.buffer "x" "input" index 0 stride [1] : memref<4xf16>
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] splits [4] {owners = affine_map<(d0) -> (d0)>}
// A map that is no plain order of slices, but gives each core its own.
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] splits [4] {owners = affine_map<(d0) -> (-d0 + 3)>}

// -----

%x = loop.buffer "x" "input" index 0 stride [1] : memref<4xf16>
// expected-error @+1 {{core 2 owns slices that another core has}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] splits [4] {owners = affine_map<(d0) -> (d0 mod 2)>}

// -----

%x = loop.buffer "x" "input" index 0 stride [1] : memref<4xf16>
// expected-error @+1 {{core 2 owns slice 2 of var 0, which has 2}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a", "b"] extents [2, 2] reductions 0 maps [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d0 + d1)>] splits [2, 2] {owners = affine_map<(d0) -> (d0, 0)>}

// -----

%x = loop.buffer "x" "input" index 0 stride [1] : memref<4xf16>
// expected-error @+1 {{owners is a map from a core to its slice of each var, beside splits}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {owners = affine_map<(d0) -> (d0)>}

// -----

%x = loop.buffer "x" "input" index 0 stride [1] : memref<4xf16>
// expected-error @+1 {{splits must be 1 or more}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] splits [0] {owners = affine_map<(d0) -> (d0)>}
