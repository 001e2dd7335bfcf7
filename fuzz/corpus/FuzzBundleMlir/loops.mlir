#map_0 = affine_map<(d0)[s0] -> (s0 + 1024*d0)>
#map_1 = affine_map<(d0, d1)[s0] -> (s0 + 4096*d0 + 128*d1)>
module {
	func.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>) attributes {sdscbundle.non_terminal} {
		%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : !sdscbundle.input_arg<index> -> index
		%c0 = arith.constant 0 : index
		%c1 = arith.constant 1 : index
		%loop_bound_0 = arith.constant 4 : index
		%loop_bound_1 = arith.constant 2 : index
		scf.for %i_0 = %c0 to %loop_bound_0 step %c1 {
			%addr_0 = affine.apply #map_0(%i_0)[%arg_0]
			sdscbundle.sdsc_execute (%addr_0) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1]}
			scf.for %i_1 = %c0 to %loop_bound_1 step %c1 {
				%addr_1 = affine.apply #map_1(%i_0, %i_1)[%arg_0]
				sdscbundle.sdsc_execute (%addr_1) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-2]}
			}
		}
		return
	}
}
