module { func.func @sdsc_bundle() { %z = arith.constant 0 : index scf.for %i = %z to %z step %z { } return } }
