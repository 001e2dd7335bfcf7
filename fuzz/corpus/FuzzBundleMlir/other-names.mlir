#m = affine_map<(a, b) -> ((a - 1) * 2 + b * 1024 + 2 - -a)>
module { func.func @sdsc_bundle(%x: !sdscbundle.input_arg<index>) { %v = sdscbundle.input_arg_extract value from %x : !sdscbundle.input_arg<index> -> index
%two = arith.constant 2 : index %ten = arith.constant 10 : index %neg = arith.constant -128 : index
scf.for %k = %two to %ten step %two : index {
%w = affine.apply affine_map<(d0)[s0] -> (s0 + d0 * 512 + -1024)>(%k)[%v]
%o = affine.apply #m(%k, %two)
%n = arith.addi %v, %neg : index
sdscbundle.sdsc_execute (%w, %o, %n) {symbol_ids = [-1, -9, -3], "sdsc_filename" = "sdsc_0.json"} scf.yield }
func.return } }
