module {
	func.func @sdsc_bundle() {
		return
	}
}
