# Compiler flags, sanitizers, ccache and lld: what every target shares.
find_program(SPYRE_CCACHE ccache)
if(SPYRE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${SPYRE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SPYRE_CCACHE})
endif()

find_program(SPYRE_LLD NAMES ld.lld ld.lld-19)
if(SPYRE_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=${SPYRE_LLD})
elseif(SPYRE_LLD)
  # GCC looks for "ld.lld" in the -B directories; Debian installs it only in the LLVM prefix.
  get_filename_component(spyreLldReal ${SPYRE_LLD} REALPATH)
  get_filename_component(spyreLldDir ${spyreLldReal} DIRECTORY)
  if(EXISTS ${spyreLldDir}/ld.lld)
    add_link_options(-fuse-ld=lld -B${spyreLldDir})
  endif()
endif()

# No contraction: a*b+c is fused only where the numerics policy says so, on every host alike.
add_compile_options(-Wall -Wextra -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports both falsely inside std::string and std::optional.
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
else()
  # Clang blames std::stable_sort's own use of a deprecated buffer in GCC 12's headers on us, and asks for
  # loops to be vectorised that the sanitizers make scalar.
  add_compile_options(-Wno-deprecated-declarations -Wno-pass-failed)
endif()
# File names in assertions and debug data do not depend on where the project is checked out.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
if(SPYRE_WERROR)
  add_compile_options(-Werror)
endif()

if(SPYRE_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(SPYRE_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT SPYRE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "SPYRE_SANITIZE must be empty, 'address' or 'thread', not '${SPYRE_SANITIZE}'")
endif()
