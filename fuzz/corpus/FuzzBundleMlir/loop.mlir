module {
	func.func @sdsc_bundle() {
		scf.for %i = %c0 to %c4 step %c1 {
		return
	}
}
