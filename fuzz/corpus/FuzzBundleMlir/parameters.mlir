module {
	func.func @sdsc_bundle(%arg0: index) {
		sdscbundle.sdsc_execute () {sdsc_filename="sdsc_0.json"}
		return
	}
}
