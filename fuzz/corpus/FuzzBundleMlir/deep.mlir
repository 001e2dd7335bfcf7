#m = affine_map<(a) -> (((((((((((((((((((((a))))))))))))))))))))>
module { func.func @sdsc_bundle() { return } }
