//===- Bundle.h - bundle.mlir: the order in which a kernel's operations run -----------------===//
//
// The dialect is eight constructs [spec: codegen-and-backend 4]; this is a small strict parser and
// writer of our own, no MLIR library. What the text computes with constants, sums and affine maps
// is folded while it is read; what is left is a tree of executes and loops, and per operand
//
//     constant + arguments + sum of stride * loop index      (bytes)
//
// The four modes of the interface are all such trees: baked (no operands), symbolic (operands),
// looped (loops, operands with strides) and unrolled (no loops).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Decision.h"
#include "spyre/Spec/LoopSpec.h"
#include "spyre/Spec/SuperDsc.h"

namespace spyre::spec {

/// An argument of the bundle: a position in the kernel call's tensor list, or the pool.
constexpr int64_t kPoolArgument = -1;
/// "pool", "arg_2": how texts of all formats call an argument.
std::string bundleArgumentName(int64_t argument);
/// The reverse; nothing when \p name is not one.
Expected<int64_t> parseBundleArgument(const std::string &name);

/// A bundle is small even when its tensors are not; more is refused, so that few bytes of loops
/// cannot become a program without end.
constexpr size_t kMaxBundleExecutes = 16384;
constexpr size_t kMaxBundleLoops = 16;
constexpr int64_t kMaxBundleArgument = 16383;

struct AddressExpr {
  struct Stride {
    /// Enclosing loop, counted from the outermost.
    uint32_t loop = 0;
    int64_t bytes = 0;
    bool operator==(const Stride &) const = default;
  };
  int64_t constant = 0;
  /// Positions in Bundle::arguments, ascending, each with factor 1.
  std::vector<uint32_t> arguments;
  /// Ascending by loop; no stride is 0.
  std::vector<Stride> strides;

  bool operator==(const AddressExpr &) const = default;
};

/// One run of an operation. Operand i is the value of symbol symbolIds[i].
struct BundleExecute {
  std::string file;
  std::vector<AddressExpr> operands;
  std::vector<int64_t> symbolIds;

  bool operator==(const BundleExecute &) const = default;
};

/// An execute, or a loop over a body.
struct BundleNode {
  BundleExecute execute;
  bool isLoop = false;
  int64_t count = 0;
  std::vector<BundleNode> body;

  bool operator==(const BundleNode &) const = default;
};

struct Bundle {
  /// Parameters of the function: kPoolArgument, or the position in the call.
  std::vector<int64_t> arguments;
  /// The next bundle of the same stream reads what this one leaves in LX.
  bool nonTerminal = false;
  std::vector<BundleNode> body;

  bool operator==(const Bundle &) const = default;
  /// One execute per file, addresses in the files.
  static Bundle baked(const std::vector<std::string> &files);
};

/// The documented text form.
std::string writeBundleMlir(const Bundle &bundle);
/// Names, blanks and the way a value is computed are free. Errors: E5004 with line and column.
Expected<Bundle> parseBundleMlir(const std::string &text);

/// One execute with the indices of its loops, outermost first.
struct BundleCall {
  const BundleExecute *execute = nullptr;
  std::vector<int64_t> loopIndices;
};
/// All executes in the order in which they run; they point into \p bundle. Error: E5004 when there
/// are more than kMaxBundleExecutes.
Expected<std::vector<BundleCall>> expandBundle(const Bundle &bundle);
/// constant + strides * loop indices; the arguments are left out. Error: E5004 (overflow).
Expected<int64_t> constantPart(const AddressExpr &address, const std::vector<int64_t> &loopIndices);

struct BundleOptions {
  /// Addresses become symbols that the bundle's arguments give, instead of numbers in the JSON.
  bool symbolicArguments = false;
  /// One execute per iteration. Otherwise loops stay loops: always when addresses are symbols; with
  /// baked addresses only loops in which no tensor moves, since a file has one address per tensor.
  bool unrollLoops = true;
  EmitOptions emit = {};
  /// Which loops were unrolled and why; may be null.
  DecisionTrace *trace = nullptr;
  /// As in Bundle.
  bool nonTerminal = false;
};
/// A kernel -> "bundle.mlir" + "sdsc_<n>.json", n counted depth first. Errors: E1302, E1303, E5001.
Expected<Artifacts> generateBundle(const Kernel &kernel, const BundleOptions &options = {});
Expected<Artifacts> generateBundle(const std::vector<OpSpec> &specs,
                                   const BundleOptions &options = {});

/// What the files of a bundle say.
struct BundleContents {
  Bundle bundle;
  /// By file name: every file that is executed.
  std::map<std::string, SuperDsc> operations;
};
Expected<BundleContents> readBundle(const Artifacts &bundle);

} // namespace spyre::spec
