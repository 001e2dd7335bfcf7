module { func.func @sdsc_bundle() { %z = arith.constant 0 : index sdscbundle.sdsc_execute (%z) {sdsc_filename="sdsc_0.json", "symbol_ids"=[1]} return } }
