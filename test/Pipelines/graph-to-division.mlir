// The registered pipeline does what spyre-compile does phase by phase.
// RUN: spyre-opt %S/../Inputs/matmul-exp-sum.mlir --spyre-graph-to-division-pipeline | FileCheck %s
// RUN: spyre-compile %S/../Inputs/matmul-exp-sum.mlir --compile-to=division -o - | FileCheck %s

// CHECK: loop.compute "copy" ins(%const
// CHECK: loop.compute "copy" ins(%y
// CHECK: loop.compute "batchmatmul" ins(%x, %y_padded {{.*}} splits [{{[0-9, ]+}}] {owners
// CHECK: loop.compute "exp"
// CHECK: loop.compute "sum" {{.*}} splits [{{[0-9, ]+}}] {owners
