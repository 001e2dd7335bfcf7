module {
	func.func @sdsc_bundle() {
		sdscbundle.sdsc_execu
