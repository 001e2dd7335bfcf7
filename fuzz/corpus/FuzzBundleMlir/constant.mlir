module {
	func.func @sdsc_bundle() {
		%c0 = arith.constant 0 : index
		return
	}
}
