// Faults of hand-written loop IR.
// RUN: spyre-opt %s --split-input-file --verify-diagnostics --spyre-loop-propagate-layouts

// expected-error @below {{SPYRE-E2010: buffer 'x' has no layout}}
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [1] : memref<64xf16>
    %z = loop.buffer "z" "output" index 0 stride [1] : memref<64xf16>
    loop.compute "exp" ins(%x : memref<64xf16>) outs(%z : memref<64xf16>) vars ["c0"] extents [64] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
    return
  }
}

// -----

// expected-error @below {{SPYRE-E1202: a loop module holds one func.func @main()}}
module {
  func.func @other() {
    return
  }
}

// -----

// expected-error @below {{SPYRE-E1206: a matmul has two inputs}}
module {
  func.func @main() {
    %x = loop.buffer "x" "input" index 0 stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<64xf16>
    %z = loop.buffer "z" "output" index 0 stride [1] : memref<64xf16>
    loop.compute "batchmatmul" ins(%x : memref<64xf16>) outs(%z : memref<64xf16>) vars ["c0"] extents [64] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
    return
  }
}

// -----

// expected-error @+1 {{SPYRE-E1206: 'aten.sin.default' reads 'a' before anything wrote it}}
module {
func.func @main() {
  %a = loop.buffer "a" "temp" stride [1] : memref<64xf16>
  %b = loop.buffer "b" "temp" stride [1] : memref<64xf16>
  loop.host "aten.sin.default" ins(%a : memref<64xf16>) outs(%b : memref<64xf16>) node 7 results [] gate 1 "unknown"
  return
}
}
