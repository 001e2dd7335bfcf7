#map = affine_map<(d0) -> (d0)>
module {
	func.func @sdsc_bundle() {
		return
	}
}
