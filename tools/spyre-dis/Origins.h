//===- Origins.h - comments that say which operation a phase came from ----------------------===//
//
// A phase is named like its SuperDSC, "<index>_<op>", and the index is the place of the operation
// in the kernel's op_spec.txt. When that file lies beside the bundle its entry is shown:
//
//     // sdsc_0.json, op_spec.txt entry 0: add, c0 8 over 2 cores, c1 64; in [1, 8, 64] hbm 0x0,
//     ... phase 0 "0_add" cores 2
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <filesystem>
#include <string>

namespace spyre::tools {

/// op_spec.txt beside the program's directory; empty when there is none.
std::filesystem::path findOpSpecs(const std::filesystem::path &program);

/// \p text of a program with a comment line before each phase whose operation \p opSpecs holds. A
/// file that is no list of OpSpecs is noted in a comment: the program is what was asked for.
std::string withOrigins(const std::string &text, const std::string &opSpecs);

} // namespace spyre::tools
