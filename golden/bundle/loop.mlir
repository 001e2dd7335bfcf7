#map_0 = affine_map<(d0)[s0] -> (s0 + 1024*d0)>
module {
	func.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>, %arg_1_base_addr: !sdscbundle.input_arg<index>) {
		%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : !sdscbundle.input_arg<index> -> index
		%arg_1 = sdscbundle.input_arg_extract value from %arg_1_base_addr : !sdscbundle.input_arg<index> -> index
		%c0 = arith.constant 0 : index
		%c1 = arith.constant 1 : index
		%loop_bound_0 = arith.constant 4 : index
		%arg_0_core_offset_512 = arith.constant 512 : index
		%arg_0_core_512 = arith.addi %arg_0, %arg_0_core_offset_512 : index
		%arg_1_core_offset_512 = arith.constant 512 : index
		%arg_1_core_512 = arith.addi %arg_1, %arg_1_core_offset_512 : index
		scf.for %i_0 = %c0 to %loop_bound_0 step %c1 {
			%addr_0 = affine.apply #map_0(%i_0)[%arg_0]
			%addr_1 = affine.apply #map_0(%i_0)[%arg_0_core_512]
			%addr_2 = affine.apply #map_0(%i_0)[%arg_1]
			%addr_3 = affine.apply #map_0(%i_0)[%arg_1_core_512]
			sdscbundle.sdsc_execute (%addr_0, %addr_1, %addr_2, %addr_3) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1, -2, -3, -4]}
		}
		return
	}
}
