// One case per branch of the verifiers of loop.buffer and loop.compute.
// RUN: spyre-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{kind must be input, output, constant, temp or host, not 'tmp'}}
%x = loop.buffer "x" "tmp" stride [1] : memref<4xf16>

// -----

// expected-error @+1 {{inputs and outputs, and only they, have an index}}
%x = loop.buffer "x" "input" stride [1] : memref<4xf16>

// -----

// expected-error @+1 {{constants, and only they, have a value}}
%x = loop.buffer "x" "constant" stride [] : memref<f16>

// -----

// expected-error @+1 {{stride needs one entry per dimension}}
%x = loop.buffer "x" "temp" stride [1, 1] : memref<4xf16>

// -----

// expected-error @+1 {{sizes must be positive}}
%x = loop.buffer "x" "temp" stride [1] : memref<0xf16>

// -----

// expected-error @+1 {{stride -4 is outside 0..2^47}}
%x = loop.buffer "x" "temp" stride [-4] : memref<4xf16>

// -----

// expected-error @+1 {{pool_offset belongs to temps and is a multiple of 128}}
%x = loop.buffer "x" "temp" stride [1] {pool_offset = 100 : i64} : memref<4xf16>

// -----

// expected-error @+1 {{SPYRE-E2010: a device layout is}}
%x = loop.buffer "x" "temp" stride [1] layout {device_size = array<i64: 1, 64>} : memref<4xf16>

// -----

// expected-error @+1 {{element type has no device format}}
%x = loop.buffer "x" "temp" stride [1] : memref<4xf64>

// -----

// expected-error @+1 {{type must be a plain memref with a static shape}}
%x = loop.buffer "x" "temp" stride [1] : memref<?xf16>

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
%y = loop.buffer "y" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{vars and extents must have the same length}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%y : memref<4xf16>) vars ["a", "b"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
%y = loop.buffer "y" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{vars must have different names}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%y : memref<4xf16>) vars ["a", "a"] extents [2, 2] reductions 0 maps [affine_map<(d0, d1) -> (2 * d0 + d1)>, affine_map<(d0, d1) -> (2 * d0 + d1)>]

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
%y = loop.buffer "y" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{map 0 leaves dimension 0 of size 4}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%y : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0 + 1)>, affine_map<(d0) -> (d0)>]

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
%y = loop.buffer "y" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{map 0: SPYRE-E1201: access 'd0 mod 2' is not linear}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%y : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0 mod 2)>, affine_map<(d0) -> (d0)>]

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
%y = loop.buffer "y" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{the output must not depend on a reduced var}}
loop.compute "sum" ins(%x : memref<4xf16>) outs(%y : memref<4xf16>) vars ["a"] extents [4] reductions 1 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{one map per input and one for the output}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0)>]

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{extent 0 is outside 1..2^40}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a"] extents [0] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{splits needs one entry per var}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] splits [1, 1]

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{reductions must be between 0 and the number of vars}}
loop.compute "exp" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) vars ["a"] extents [4] reductions 2 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]

// -----

%x = loop.buffer "x" "input" index 0 stride [1] : memref<4xf16>
// expected-error @+1 {{an output is a temp, an output or a host value that nothing else writes}}
loop.host "aten.sin.default" ins() outs(%x : memref<4xf16>) node 1 results [] gate 1 "unknown"

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{an output is a temp, an output or a host value that nothing else writes}}
loop.host "aten.sin.default" ins(%x : memref<4xf16>) outs(%x : memref<4xf16>) node 1 results [] gate 1 "unknown"

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{'loop.host' op has 1 outputs, but names 2}}
loop.host "aten.sort.default" ins() outs(%x : memref<4xf16>) node 1 results [0, 1] gate 1 "unknown"

// -----

%x = loop.buffer "x" "temp" stride [1] : memref<4xf16>
%h = loop.buffer "h" "host" stride [1] : memref<4xf64>
// expected-error @+1 {{operand 0 is not declared by loop.buffer, or a host value}}
loop.compute "copy" ins(%h : memref<4xf64>) outs(%x : memref<4xf16>) vars ["a"] extents [4] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]

// -----

// expected-error @+1 {{a host value has no layout}}
%h = loop.buffer "h" "host" stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<4xf16>

// -----

%i = loop.buffer "i" "input" index 0 stride [1] : memref<4xi64>
%x = loop.buffer "x" "input" index 1 stride [4, 1] : memref<4x4xf16>
%y = loop.buffer "y" "temp" stride [4, 1] : memref<4x4xf16>
// expected-error @+1 {{indirect lists array<i64: input, dimension, index input>}}
loop.compute "copy" ins(%i, %x : memref<4xi64>, memref<4x4xf16>) outs(%y : memref<4x4xf16>) vars ["a", "b"] extents [4, 4] reductions 0
  maps [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (0, b)>, affine_map<(a, b) -> (a, b)>] indirect [array<i64: 2, 0, 0>]

// -----

%i = loop.buffer "i" "input" index 0 stride [1] : memref<4xi64>
%x = loop.buffer "x" "input" index 1 stride [4, 1] : memref<4x4xf16>
%y = loop.buffer "y" "temp" stride [4, 1] : memref<4x4xf16>
// expected-error @+1 {{the map of an indirect dimension is 0}}
loop.compute "copy" ins(%i, %x : memref<4xi64>, memref<4x4xf16>) outs(%y : memref<4x4xf16>) vars ["a", "b"] extents [4, 4] reductions 0
  maps [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>] indirect [array<i64: 1, 0, 0>]

// -----

%i = loop.buffer "i" "input" index 0 stride [1] : memref<4xf16>
%x = loop.buffer "x" "input" index 1 stride [4, 1] : memref<4x4xf16>
%y = loop.buffer "y" "temp" stride [4, 1] : memref<4x4xf16>
// expected-error @+1 {{an input is chosen along one dimension, by i32 or i64}}
loop.compute "copy" ins(%i, %x : memref<4xf16>, memref<4x4xf16>) outs(%y : memref<4x4xf16>) vars ["a", "b"] extents [4, 4] reductions 0
  maps [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (0, b)>, affine_map<(a, b) -> (a, b)>] indirect [array<i64: 1, 0, 0>]

// -----

%i = loop.buffer "i" "input" index 0 stride [1] : memref<4xi64>
%j = loop.buffer "j" "input" index 1 stride [1] : memref<4xi64>
%y = loop.buffer "y" "temp" stride [1] : memref<4xi64>
// expected-error @+1 {{indices are not chosen by indices}}
loop.compute "add" ins(%i, %j : memref<4xi64>, memref<4xi64>) outs(%y : memref<4xi64>) vars ["a"] extents [4] reductions 0
  maps [affine_map<(a) -> (0)>, affine_map<(a) -> (0)>, affine_map<(a) -> (a)>] indirect [array<i64: 1, 0, 0>, array<i64: 0, 0, 1>]

// -----

%i = loop.buffer "i" "input" index 0 stride [1] : memref<4xi64>
%x = loop.buffer "x" "input" index 1 stride [4, 1] : memref<4x4xf16>
%y = loop.buffer "y" "temp" stride [1] : memref<4xf16>
// expected-error @+1 {{only element-wise operations and copies have indirect inputs}}
loop.compute "sum" ins(%i, %x : memref<4xi64>, memref<4x4xf16>) outs(%y : memref<4xf16>) vars ["a", "b"] extents [4, 4] reductions 1
  maps [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (0, b)>, affine_map<(a, b) -> (a)>] indirect [array<i64: 1, 0, 0>]
