// What stays in LX has an address there and none in the pool; the last check refuses what does not hold.
// RUN: %bin/spyre-compile %S/../../Inputs/matmul-exp-sum.mlir --cores 4 --lx-planning --no-cache --compile-to=division -o %t
// RUN: FileCheck %s < %t
// CHECK: loop.buffer "t0" "temp" {{.*}} {lx_address = 0 : i64}
// CHECK: loop.buffer "t1" "temp" {{.*}} {lx_address = 0 : i64}
// CHECK: loop.buffer "y_padded" "temp" {{.*}} {pool_offset = 0 : i64}
// RUN: %bin/spyre-compile %t --from=division --cores 4 --no-cache --compile-to=opspec --dump-opspec - -o %t.dir | FileCheck %s --check-prefix=SPEC
// SPEC: op='batchmatmul'
// SPEC: allocation={'lx': 0}

// Splits that changed after planning: another part of t0 would be on each core.
// RUN: sed 's/\(loop.compute "exp".*\) splits \[1, 3\] {owners = #map[0-9]*}/\1 splits [5, 1]/' %t > %t.bad
// RUN: not %bin/spyre-compile %t.bad --from=division --cores 5 --no-cache --compile-to=opspec -o %t.dir2 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: SPYRE-E3101: 't0' is in LX, but operations 2 ('batchmatmul') and 3 ('exp') divide it differently

// Wishes, and a smaller scratchpad.
// RUN: %bin/spyre-compile %S/../../Inputs/matmul-exp-sum.mlir --cores 4 --lx-planning --no-cache --lx-forbid t0 --lx-pin t1=1024 --explain - -o %t.dir3 | FileCheck %s --check-prefix=WISH
// WISH: t1: placed: 7040 bytes of each core at 1024
// WISH: t0: {{.*}}it is not to stay
// RUN: %bin/spyre-compile %S/../../Inputs/matmul-exp-sum.mlir --cores 4 --lx-planning --no-cache --lx-budget-bytes 1024 --explain - -o %t.dir4 | FileCheck %s --check-prefix=SMALL
// SMALL: t0: too-large: 7040 bytes on each core, 1024 are there
// RUN: not %bin/spyre-compile %S/../../Inputs/matmul-exp-sum.mlir --lx-planning --no-cache --lx-budget-bytes 99999999 -o %t.dir5 2>&1 | FileCheck %s --check-prefix=BUDGET
// BUDGET: SPYRE-E3102
// RUN: not %bin/spyre-compile %S/../../Inputs/matmul-exp-sum.mlir --cores 4 --lx-planning --no-cache --lx-pin t0=0 --lx-pin t1=128 -o %t.dir9 2>&1 | FileCheck %s --check-prefix=PINS
// PINS: SPYRE-E3120: pinned buffers 't0' (bytes 0 to 7039, ticks 2 to 3) and 't1' (bytes 128 to 7167, ticks 3 to 4) share bytes at tick 3
// RUN: not %bin/spyre-compile %S/../../Inputs/matmul-exp-sum.mlir --lx-planning --no-cache --lx-forbid none -o %t.dir6 2>&1 | FileCheck %s --check-prefix=NOBUFFER
// NOBUFFER: SPYRE-E3100
// RUN: not %bin/spyre-compile %S/../../Inputs/matmul-exp-sum.mlir --lx-planning --no-cache --lx-solver none -o %t.dir7 2>&1 | FileCheck %s --check-prefix=NOSOLVER
// NOSOLVER: SPYRE-E3045

// The problem goes to spyre-plan.
// RUN: %bin/spyre-compile %S/../../Inputs/matmul-exp-sum.mlir --cores 4 --lx-planning --no-cache --dump-lx-problem %t.json -o %t.dir8
// RUN: %bin/spyre-plan solve --variant pick %t.json | FileCheck %s --check-prefix=PLAN
// PLAN: gap 0
