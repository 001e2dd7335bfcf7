# Writes OUTPUT: buildId(), the hash of the compiler's sources below ROOT and of SALT (tools, flags).
# Run when the project is built, so an edited source gives another compiler.
file(GLOB_RECURSE sources RELATIVE ${ROOT}
  ${ROOT}/lib/*.cpp ${ROOT}/lib/*.h ${ROOT}/include/*.h ${ROOT}/include/*.td)
list(SORT sources)
set(all "${SALT}")
foreach(source ${sources})
  file(SHA256 ${ROOT}/${source} hash)
  string(APPEND all "\n${source} ${hash}")
endforeach()
string(SHA256 id "${all}")
file(WRITE ${OUTPUT} "#include \"spyre/Pipelines/BuildId.h\"\n\n\
const char *spyre::pipelines::buildId() { return \"${id}\"; }\n")
