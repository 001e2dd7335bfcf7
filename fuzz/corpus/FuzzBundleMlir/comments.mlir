// a bundle
module {
	func.func @sdsc_bundle() {
		// one operation
		sdscbundle.sdsc_execute () {sdsc_filename="sdsc_0.json"}
		return
	}
}
// end
