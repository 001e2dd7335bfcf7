module {
	func.func @sdsc_bundle() {
		sdscbundle.sdsc_execute (%0) {sdsc_filename="sdsc_0.json"}
		return
	}
}
