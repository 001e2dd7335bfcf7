//===- BundleGenerator.cpp - a kernel becomes a bundle, in one of four modes ----------------===//
//
// Addresses baked or symbolic, loops unrolled or kept [spec: codegen-and-backend 4.2]. A kept loop
// with baked addresses runs the same addresses each time, so it is kept only where nothing moves.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/Bundle.h"

#include "SuperDscNormalize.h"
#include "SuperDscWriter.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace spyre::spec {

static constexpr int64_t kSegmentMask = (int64_t(1) << 34) - 1;

namespace {

/// Gives the addresses of SuperDSCs names in the order the interface has
/// [spec: codegen-and-backend 4.3]: tensors in order, cores in order, equal addresses of one
/// operation share a symbol.
class Symbols {
public:
  Symbols(const Kernel &kernel, Bundle &bundle) : bundle(bundle) {
    for (const OpSpec *spec : operationsOf(kernel)) {
      for (const TensorArg &arg : spec->args) {
        if (arg.residency == Residency::Pool && bundle.arguments.empty()) {
          bundle.arguments.push_back(kPoolArgument);
        }
      }
    }
  }

  Status name(const OpSpec &spec, const std::vector<LoopLevel> &levels, SuperDsc &dsc,
              BundleExecute &execute) {
    using Key = std::tuple<uint32_t, int64_t, std::vector<int64_t>>;
    std::map<Key, int64_t> idOfAddress;
    for (size_t i = 0; i < dsc.tensors.size() && i < spec.args.size(); ++i) {
      DscTensor &tensor = dsc.tensors[i];
      if (tensor.inLx) {
        continue;
      }
      SPYRE_ASSIGN_OR_RETURN(uint32_t argument, argumentOf(spec.args[i]));
      std::vector<int64_t> steps;
      std::vector<AddressExpr::Stride> strides;
      for (size_t level = 0; level < levels.size(); ++level) {
        steps.push_back(bytesPerIteration(spec, spec.args[i], levels, level));
        if (steps.back() != 0) {
          strides.push_back({uint32_t(level), steps.back()});
        }
      }
      tensor.symbolic = true;
      for (int64_t &start : tensor.startAddress) {
        const int64_t offset = start & kSegmentMask;
        auto [known, isNew] = idOfAddress.emplace(Key(argument, offset, steps), nextId);
        if (isNew) {
          --nextId;
          execute.symbolIds.push_back(known->second);
          execute.operands.push_back({offset, {argument}, strides});
        }
        start = known->second;
      }
    }
    return Status::success();
  }

private:
  Expected<uint32_t> argumentOf(const TensorArg &arg) {
    const bool isPool = arg.residency == Residency::Pool;
    if (!isPool && (arg.argIndex < 0 || arg.argIndex > kMaxBundleArgument)) {
      return error<5001>("a tensor has argument index {}; symbols need one in 0..{}", arg.argIndex,
                         kMaxBundleArgument);
    }
    const int64_t wanted = isPool ? kPoolArgument : arg.argIndex;
    auto found = std::find(bundle.arguments.begin(), bundle.arguments.end(), wanted);
    const auto position = uint32_t(found - bundle.arguments.begin());
    if (found == bundle.arguments.end()) {
      bundle.arguments.push_back(wanted);
    }
    return position;
  }

  Bundle &bundle;
  int64_t nextId = -1;
};

class Generator {
public:
  Generator(const Kernel &kernel, const BundleOptions &options)
      : options(options), symbols(kernel, bundle) {
    bundle.nonTerminal = options.nonTerminal;
    if (!options.symbolicArguments) {
      bundle.arguments.clear();
    }
  }

  Expected<Artifacts> run(const Kernel &kernel) {
    SPYRE_RETURN_IF_ERROR(emit(kernel, bundle.body));
    files["bundle.mlir"] = writeBundleMlir(bundle);
    return std::move(files);
  }

private:
  Status emit(const Kernel &nodes, std::vector<BundleNode> &out) {
    for (const SpecNode &node : nodes) {
      if (node.kind == SpecNode::Kind::Unimplemented) {
        return error<5001>("the kernel contains unimplemented operation {}", node.op.op);
      }
      BundleNode made;
      if (node.kind == SpecNode::Kind::Loop) {
        made.isLoop = true;
        made.count = node.count;
        levels.push_back({node.count, node.tiledSymbols});
        SPYRE_RETURN_IF_ERROR(emit(node.body, made.body));
        levels.pop_back();
      } else if (Status done = operation(node.op, made.execute); !done.ok()) {
        return done.withContext(fmt::format("operation {}: ", operations));
      }
      out.push_back(std::move(made));
    }
    return Status::success();
  }

  Status operation(const OpSpec &spec, BundleExecute &execute) {
    SPYRE_ASSIGN_OR_RETURN(SuperDsc dsc, emitSuperDsc(spec, operations, options.emit));
    execute.file = fmt::format("sdsc_{}.json", operations);
    if (options.symbolicArguments) {
      SPYRE_RETURN_IF_ERROR(symbols.name(separateIndices(spec), levels, dsc, execute));
    }
    files[execute.file] = writeSuperDsc(dsc, writer);
    ++operations;
    return Status::success();
  }

  const BundleOptions &options;
  Bundle bundle;
  Symbols symbols;
  Artifacts files;
  JsonWriter writer{kSuperDscInlineChars};
  std::vector<LoopLevel> levels;
  int64_t operations = 0;
};

std::string nameOfLoop(const SpecNode &loop) {
  std::vector<std::string> names;
  for (const OpSpec *spec : operationsOf(loop.body)) {
    names.push_back(spec->op);
  }
  if (names.size() > 4) {
    names.resize(4);
    names.push_back("...");
  }
  return fmt::format("loop over {}", fmt::join(names, ", "));
}

/// What becomes of each loop, outer ones first.
void explainLoops(const Kernel &kernel, const BundleOptions &options) {
  for (const SpecNode &node : kernel) {
    if (node.kind != SpecNode::Kind::Loop) {
      continue;
    }
    Decision decision = Decision::yes("addresses-are-symbols", "{} iterations", node.count);
    if (options.unrollLoops) {
      decision = Decision::no("unroll-loops", "{} iterations become operations", node.count);
    } else if (!options.symbolicArguments && movesNothing(node)) {
      decision = Decision::yes("nothing-moves", "{} iterations of the same addresses", node.count);
    } else if (!options.symbolicArguments) {
      decision = Decision::no("baked-addresses-move",
                              "{} iterations become operations: a baked address is one number",
                              node.count);
    }
    options.trace->record("keep-loop", nameOfLoop(node), decision);
    explainLoops(node.body, options);
  }
}

} // namespace

Expected<Artifacts> generateBundle(const Kernel &kernel, const BundleOptions &options) {
  KeepLoop keep = [](const SpecNode &) { return true; };
  if (options.unrollLoops) {
    keep = [](const SpecNode &) { return false; };
  } else if (!options.symbolicArguments) {
    keep = movesNothing;
  }
  SPYRE_ASSIGN_OR_RETURN(Kernel placed, unrollLoops(kernel, keep));
  if (options.trace) {
    explainLoops(kernel, options);
  }
  return Generator(placed, options).run(placed);
}

Expected<Artifacts> generateBundle(const std::vector<OpSpec> &specs, const BundleOptions &options) {
  return generateBundle(kernelOf(specs), options);
}

} // namespace spyre::spec
