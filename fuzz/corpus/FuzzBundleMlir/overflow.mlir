#m = affine_map<(a) -> (1152921504606846976 * a * 16)>
module { func.func @sdsc_bundle() { return } }
