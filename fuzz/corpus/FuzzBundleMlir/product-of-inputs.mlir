#m = affine_map<(a, b) -> (a * b)>
module { func.func @sdsc_bundle() { return } }
