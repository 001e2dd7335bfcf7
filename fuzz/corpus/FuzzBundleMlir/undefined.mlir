module { func.func @sdsc_bundle() { sdscbundle.sdsc_execute (%x) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1]} return } }
