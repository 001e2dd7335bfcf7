//===- ElideCopies.cpp - results that are computed where they belong ------------------------===//
//
// A graph that returns a reshaped or transposed result, or a concatenation, has copies from the
// buffers in which values were computed. When such a copy only gives all elements new places, its
// source can be (a part of) its target: every access to the first becomes an access to the second,
// and the copy is gone.
//
// The variables of the copy are digits: an index of either buffer is a number written with some of
// them. An access can be rewritten when its own variables give each digit without a carry; a
// variable that runs over several digits is split first.
//
//     copy t[24 a + b, c] -> out[a, b, c]    digits a (4), b (24), c
//     mm writes t[i, n], i < 96              i = 24 a + b is split, mm writes out[a, b, n]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "LoopPass.h"
#include "Rewrite.h"

#include <algorithm>
#include <optional>

namespace spyre::loop {

#define GEN_PASS_DEF_ELIDECOPIESPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

/// Loops a SuperDSC can name, with one left for the unit loop of a matmul.
constexpr size_t kMostVars = 7;
BufferOp bufferOf(mlir::Value value) { return value.getDefiningOp<BufferOp>(); }

/// Elements of a stick, which must not be cut; of 32 bits two count as one.
int64_t stickLanes(BufferOp buffer) { return std::max<int64_t>(64, elemsPerStick(buffer)); }

int64_t sizeOf(BufferOp buffer, size_t dim) {
  return llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getDimSize(unsigned(dim));
}

/// stride * value, value < extent: one place of a mixed-radix number.
struct Digit {
  unsigned var;
  int64_t stride, extent;
};

/// The digits of \p index, most significant first, if they write each number below \p size once.
std::optional<std::vector<Digit>> digitsOf(const LinearIndex &index, int64_t size,
                                           llvm::ArrayRef<int64_t> extents) {
  std::vector<Digit> digits;
  int64_t stride = 1;
  for (auto term = index.terms.rbegin(); term != index.terms.rend(); ++term) {
    const int64_t extent = extents[term->var];
    if (extent == 1) {
      continue;
    }
    if (term->coefficient != stride) {
      return std::nullopt;
    }
    digits.insert(digits.begin(), {term->var, stride, extent});
    stride *= extent;
  }
  if (index.offset != 0 || stride != size) {
    return std::nullopt;
  }
  return digits;
}

/// An operation while its loops are being split; nothing is changed before all can be.
struct Nest {
  mutable ComputeOp op; // a handle
  std::vector<int64_t> extents;
  std::vector<mlir::AffineMap> maps;
  std::vector<mlir::Value> operands;
  /// Of the operand that has most in a stick.
  int64_t lanesInStick = 0;

  explicit Nest(ComputeOp op) : op(op), extents(op.getExtents().begin(), op.getExtents().end()) {
    for (unsigned i = 0; i < operandCount(op); ++i) {
      maps.push_back(llvm::cast<mlir::AffineMapAttr>(op.getMaps()[i]).getValue());
      operands.push_back(op->getOperand(i));
      lanesInStick = std::max(lanesInStick, stickLanes(bufferOf(operands.back())));
    }
  }

  /// Lanes are named by a variable, which must stay in the access though it does not move.
  bool mustWalk(unsigned var) const {
    const size_t behind = extents.size() - var;
    return op.getCallee() == kMatmul ? behind <= 2
           : isTopK(op)              ? behind == kTopKVars
                                     : op.getCallee() == kConvert && behind == 1;
  }

  /// The variable whose lanes operand \p index must follow, where the operation names one.
  std::optional<unsigned> namedLanes(unsigned index) const {
    if (isTopK(op)) {
      return unsigned(extents.size() - kTopKVars);
    }
    if (op.getCallee() != kMatmul && op.getCallee() != kConvert) {
      return std::nullopt;
    }
    const bool isColumns = op.getCallee() == kMatmul && index > 0;
    return unsigned(extents.size() - (isColumns ? 2 : 1));
  }

  /// Lanes that are named by a variable have a dimension of their own, or share it with whole
  /// sticks.
  bool keepsNamedLanes(unsigned index) const {
    const std::optional<unsigned> named = namedLanes(index);
    if (!named) {
      return true;
    }
    const unsigned lanes = *named;
    for (mlir::AffineExpr result : maps[index].getResults()) {
      Expected<LinearIndex> linear = linearize(result, maps[index].getNumDims());
      if (!linear.ok() || !result.isFunctionOfDim(lanes)) {
        continue;
      }
      return linear->offset % lanesInStick == 0 &&
             llvm::all_of(linear->terms, [&](const LinearIndex::Term &term) {
               return term.var == lanes ? term.coefficient == 1
                                        : term.coefficient % lanesInStick == 0;
             });
    }
    return true;
  }

  /// Sticks stay whole: a variable that may run along one is split only between sticks, and only
  /// where lanes do not meet.
  bool canSplit(unsigned var, int64_t inner) const {
    const bool isLaneWise = op.getReductions() == 0 && op.getCallee() != kConvert;
    if (isLaneWise && inner % lanesInStick == 0) {
      return true;
    }
    for (size_t i = 0; i < maps.size(); ++i) {
      if (maps[i].getNumResults() == 0) {
        continue;
      }
      BufferOp buffer = bufferOf(operands[i]);
      int64_t stick = maps[i].getNumResults() - 1;
      if (buffer.getLayout()) {
        Expected<DimRoles> roles = dimRolesOf(buffer);
        if (!roles.ok()) {
          return false;
        }
        stick = roles->stick();
      }
      if (stick >= 0 && maps[i].getResult(unsigned(stick)).isFunctionOfDim(var)) {
        return false;
      }
    }
    return true;
  }

  /// A dimension can be walked in steps that divide it, and where it is entered.
  bool stepsDivide(unsigned var, int64_t inner) const {
    for (size_t i = 0; i < maps.size(); ++i) {
      for (unsigned d = 0; d < maps[i].getNumResults(); ++d) {
        Expected<LinearIndex> index = linearize(maps[i].getResult(d), maps[i].getNumDims());
        if (!index.ok()) {
          return false;
        }
        for (const LinearIndex::Term &term : index->terms) {
          const int64_t step = term.coefficient * inner;
          if (term.var == var &&
              (sizeOf(bufferOf(operands[i]), d) % step != 0 || index->offset % step != 0)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  bool split(unsigned var, int64_t inner) {
    const bool isNamed = isTopK(op) && extents.size() - var <= kTopKVars;
    if (isNamed || extents.size() == kMostVars || extents[var] % inner != 0 ||
        !canSplit(var, inner) || !stepsDivide(var, inner)) {
      return false;
    }
    mlir::MLIRContext *context = op.getContext();
    llvm::SmallVector<mlir::AffineExpr> replacements;
    for (unsigned v = 0; v < extents.size(); ++v) {
      mlir::AffineExpr same = mlir::getAffineDimExpr(v > var ? v + 1 : v, context);
      replacements.push_back(v == var ? same * inner + mlir::getAffineDimExpr(v + 1, context)
                                      : same);
    }
    extents[var] /= inner;
    extents.insert(extents.begin() + var + 1, inner);
    for (mlir::AffineMap &map : maps) {
      map = map.replaceDimsAndSymbols(replacements, {}, unsigned(extents.size()), 0);
    }
    return true;
  }

  void commit(Rewriter &rewriter) {
    std::vector<std::string> names;
    for (size_t v = 0; v < extents.size(); ++v) {
      names.push_back("c" + std::to_string(v));
    }
    llvm::SmallVector<llvm::StringRef> vars(names.begin(), names.end());
    op.setVarsAttr(rewriter.builder.getStrArrayAttr(vars));
    op.setExtentsAttr(rewriter.builder.getDenseI64ArrayAttr(extents));
    for (unsigned i = 0; i < maps.size(); ++i) {
      rewriter.setOperand(op, i, bufferOf(operands[i]), maps[i]);
    }
  }
};

/// The two sides of a copy, with the digits they share.
class Renaming {
public:
  static std::optional<Renaming> of(ComputeOp copy) {
    Renaming renaming;
    renaming.copy = copy;
    renaming.target = accessOf(copy, 1);
    std::vector<int> reads(copy.getExtents().size()), writes(copy.getExtents().size());
    Access from = accessOf(copy, 0);
    for (size_t d = 0; d < from.dims.size(); ++d) {
      auto digits = digitsOf(from.dims[d], sizeOf(from.buffer, d), copy.getExtents());
      if (!digits) {
        return std::nullopt;
      }
      for (const Digit &digit : *digits) {
        ++reads[digit.var];
      }
      renaming.digits.push_back(std::move(*digits));
    }
    // A temporary that joins dimensions was made to number elements anew, which may need other
    // sticks than their producer has.
    const bool mustKeepSticks = renaming.target.buffer.getKind() == "temp" &&
                                llvm::any_of(renaming.target.dims, [](const LinearIndex &dim) {
                                  return dim.terms.size() > 1;
                                });
    if (mustKeepSticks && !renaming.keepsSticks()) {
      return std::nullopt;
    }
    for (const LinearIndex &dim : renaming.target.dims) {
      for (const LinearIndex::Term &term : dim.terms) {
        ++writes[term.var];
      }
    }
    for (size_t v = 0; v < reads.size(); ++v) {
      if (copy.getExtents()[v] != 1 && (reads[v] != 1 || writes[v] != 1)) {
        return std::nullopt;
      }
    }
    return renaming;
  }

  /// Makes operand \p index of the nest, which is the copy's source, its target.
  bool apply(Nest &nest, unsigned index) const {
    std::vector<mlir::AffineExpr> values;
    Fit fit = Fit::AfterSplit;
    while (fit == Fit::AfterSplit) {
      fit = digitValues(nest, index, values);
    }
    if (fit == Fit::No) {
      return false;
    }
    llvm::SmallVector<mlir::AffineExpr> results;
    for (const LinearIndex &dim : target.dims) {
      mlir::AffineExpr sum = mlir::getAffineConstantExpr(dim.offset, copy->getContext());
      for (const LinearIndex::Term &term : dim.terms) {
        sum = sum + values[term.var] * term.coefficient;
      }
      results.push_back(sum);
    }
    if (!stepsDivideTarget(results, nest)) {
      return false;
    }
    nest.maps[index] =
        mlir::AffineMap::get(unsigned(nest.extents.size()), 0, results, copy->getContext());
    nest.operands[index] = copy.getOutput();
    return true;
  }

private:
  /// The lanes of the last dimension are those of the source, as where heads of whole sticks are
  /// put side by side.
  bool keepsSticks() const {
    if (digits.empty() || digits.back().empty()) {
      return false;
    }
    const unsigned lanes = digits.back().back().var;
    llvm::ArrayRef<LinearIndex::Term> terms = target.dims.back().terms;
    return !terms.empty() && terms.back().var == lanes && terms.back().coefficient == 1 &&
           std::all_of(terms.begin(), terms.end() - 1, [&](const LinearIndex::Term &term) {
             return term.coefficient % stickLanes(target.buffer) == 0;
           });
  }

  /// A dimension can be walked in steps that divide it.
  bool stepsDivideTarget(llvm::ArrayRef<mlir::AffineExpr> results, const Nest &nest) const {
    for (size_t d = 0; d < results.size(); ++d) {
      Expected<LinearIndex> index = linearize(results[d], unsigned(nest.extents.size()));
      if (!index.ok()) {
        return false;
      }
      if (index->terms.size() > 1 && index->offset % index->terms[0].coefficient != 0) {
        return false;
      }
      for (const LinearIndex::Term &term : index->terms) {
        if (sizeOf(target.buffer, d) % term.coefficient != 0) {
          return false;
        }
      }
    }
    return true;
  }

  enum class Fit { Yes, No, AfterSplit };

  /// Adds to the digits of dimension \p d what \p linear gives; carries are not allowed.
  Fit addDim(Nest &nest, size_t d, const LinearIndex &linear,
             std::vector<mlir::AffineExpr> &values) const {
    const std::vector<Digit> &places = digits[d];
    std::vector<int64_t> largest;
    int64_t rest = linear.offset;
    for (const Digit &digit : places) {
      largest.push_back(rest / digit.stride);
      values[digit.var] = values[digit.var] + largest.back();
      rest %= digit.stride;
    }
    for (const LinearIndex::Term &term : linear.terms) {
      const int64_t extent = nest.extents[term.var];
      auto isBelow = [&](const Digit &digit) { return digit.stride <= term.coefficient; };
      auto digit = std::find_if(places.begin(), places.end(), isBelow);
      if (extent == 1) {
        if (nest.mustWalk(term.var)) {
          return Fit::No;
        }
        continue;
      }
      if (digit == places.end() || term.coefficient % digit->stride != 0) {
        return Fit::No;
      }
      const int64_t step = term.coefficient / digit->stride;
      if (step * extent > digit->extent && digit != places.begin()) {
        // It runs on into the next digit.
        const bool isCut = digit->extent % step == 0 && nest.split(term.var, digit->extent / step);
        return isCut ? Fit::AfterSplit : Fit::No;
      }
      mlir::AffineExpr var = mlir::getAffineDimExpr(term.var, copy->getContext());
      values[digit->var] = values[digit->var] + var * step;
      largest[size_t(digit - places.begin())] += step * (extent - 1);
    }
    for (size_t i = 0; i < places.size(); ++i) {
      if (largest[i] >= places[i].extent) {
        return Fit::No;
      }
    }
    return Fit::Yes;
  }

  /// Value of each digit, by variable of the copy.
  Fit digitValues(Nest &nest, unsigned index, std::vector<mlir::AffineExpr> &values) const {
    values.assign(copy.getExtents().size(), mlir::getAffineConstantExpr(0, copy->getContext()));
    for (size_t d = 0; d < digits.size(); ++d) {
      Expected<LinearIndex> linear =
          linearize(nest.maps[index].getResult(unsigned(d)), unsigned(nest.extents.size()));
      if (!linear.ok()) {
        return Fit::No;
      }
      if (Fit fit = addDim(nest, d, *linear, values); fit != Fit::Yes) {
        return fit;
      }
    }
    return Fit::Yes;
  }

  mutable ComputeOp copy; // a handle
  /// Per dimension of the source.
  std::vector<std::vector<Digit>> digits;
  Access target;
};

/// Sticks along dimension \p dim hold nothing else than [first, end) of it.
static bool isWholeSticks(int64_t first, int64_t end, BufferOp buffer, size_t dim) {
  const int64_t lanes = stickLanes(buffer);
  return first % lanes == 0 && (end % lanes == 0 || end == sizeOf(buffer, dim));
}

/// First and last index of each dimension that an access touches.
struct Box {
  std::vector<std::pair<int64_t, int64_t>> dims;

  Box(const Access &access, llvm::ArrayRef<int64_t> extents) {
    for (const LinearIndex &index : access.dims) {
      int64_t last = index.offset;
      for (const LinearIndex::Term &term : index.terms) {
        last += term.coefficient * (extents[term.var] - 1);
      }
      dims.push_back({index.offset, last});
    }
  }
  bool overlaps(const Box &other) const {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].second < other.dims[d].first || other.dims[d].second < dims[d].first) {
        return false;
      }
    }
    return true;
  }
  /// Parts of the last dimension, along which sticks mostly lie, begin and end between sticks.
  bool keepsSticks(BufferOp buffer) const {
    if (dims.empty()) {
      return true;
    }
    const auto [first, last] = dims.back();
    return isWholeSticks(first, last + 1, buffer, dims.size() - 1);
  }
};

/// Gives an input new contents; spyre-loop-elide-copy-back may save more than this pass.
bool storesInInput(mlir::Operation *user) {
  auto op = llvm::dyn_cast<ComputeOp>(user);
  return op && bufferOf(op.getOutput()).getKind() == "input";
}

class Elider {
public:
  Elider(mlir::func::FuncOp function, DecisionTrace *trace)
      : function(function), trace(trace), rewriter(function) {}

  void run() {
    llvm::SmallVector<ComputeOp> copies;
    for (ComputeOp op : function.getOps<ComputeOp>()) {
      if (op.getCallee() == kCopy && op.getInputs().size() == 1 && !op.getIndirect() &&
          !op->hasAttr(kOverwritesPadding)) {
        copies.push_back(op);
      }
    }
    for (ComputeOp copy : copies) {
      llvm::StringRef from = bufferOf(copy.getInputs()[0]).getKind();
      llvm::StringRef to = bufferOf(copy.getOutput()).getKind();
      if (from != "temp" || (to != "temp" && to != "output")) {
        continue;
      }
      const std::string name = bufferOf(copy.getOutput()).getName().str();
      Decision decision = elide(copy);
      if (trace) {
        trace->record("elide-copy", name, decision);
      }
    }
  }

private:
  /// True if \p op, which uses the target of a copy to \p part, does so beside the part and in
  /// whole sticks.
  static bool isApart(ComputeOp op, mlir::Value target, const Box &part) {
    if (op.getOutput() != target || llvm::is_contained(op.getInputs(), target) ||
        op->hasAttr(kOverwritesPadding)) {
      return false;
    }
    const Box box(accessOf(op, operandCount(op) - 1), op.getExtents());
    return box.keepsSticks(bufferOf(target)) && !part.overlaps(box);
  }

  /// Others may write other parts of the target, and read it only afterwards.
  static Decision checkTarget(ComputeOp copy) {
    const mlir::Value target = copy.getOutput();
    const Box part(accessOf(copy, 1), copy.getExtents());
    if (!part.keepsSticks(bufferOf(target))) {
      return Decision::no("cuts-sticks", "the part begins or ends inside of a stick");
    }
    for (mlir::Operation *user : target.getUsers()) {
      auto op = llvm::dyn_cast<ComputeOp>(user);
      const bool isLaterReader = op && op.getOutput() != target && copy->isBeforeInBlock(op);
      if (op != copy && !isLaterReader && !(op && isApart(op, target, part))) {
        return Decision::no("part-of-others", "something else uses the part or cuts its sticks");
      }
    }
    return Decision::yes("free", "nobody else writes the part");
  }

  static bool walks(const LinearIndex &index, unsigned var) {
    return llvm::any_of(index.terms,
                        [&](const LinearIndex::Term &term) { return term.var == var; });
  }

  static bool walksAny(const LinearIndex &index, llvm::ArrayRef<int64_t> extents) {
    return llvm::any_of(index.terms,
                        [&](const LinearIndex::Term &term) { return extents[term.var] > 1; });
  }

  /// Sticks along dimension \p dim hold nothing else than this part of it.
  static bool hasWholeSticks(const LinearIndex &index, llvm::ArrayRef<int64_t> extents,
                             BufferOp buffer, size_t dim) {
    int64_t end = index.offset + 1;
    for (const LinearIndex::Term &term : index.terms) {
      end += term.coefficient * (extents[term.var] - 1);
    }
    return isWholeSticks(index.offset, end, buffer, dim);
  }

  /// True if sticks along some dimension of the target suit both: the part \p nest would write as
  /// its operand \p index, and the part \p other writes. Who names his lanes has no choice.
  static bool agreeOnSticks(const Nest &nest, unsigned index, ComputeOp other) {
    const unsigned out = operandCount(other) - 1;
    const std::optional<unsigned> mine = nest.namedLanes(index);
    const std::optional<unsigned> theirs = Nest(other).namedLanes(out);
    const Access part = accessOf(other, out);
    for (unsigned d = 0; d < part.dims.size(); ++d) {
      Expected<LinearIndex> own =
          linearize(nest.maps[index].getResult(d), nest.maps[index].getNumDims());
      if (!own.ok()) {
        return false;
      }
      // Other dimensions than the last may be cut where sticks begin.
      const bool areWhole =
          (!mine && !theirs) || (hasWholeSticks(*own, nest.extents, part.buffer, d) &&
                                 hasWholeSticks(part.dims[d], other.getExtents(), part.buffer, d));
      const bool suitsMe = mine ? walks(*own, *mine) : walksAny(*own, nest.extents);
      const bool suitsThem =
          theirs ? walks(part.dims[d], *theirs) : walksAny(part.dims[d], other.getExtents());
      if (suitsMe && suitsThem && areWhole) {
        return true;
      }
    }
    // One element per stick suits all who do not name lanes.
    return !mine && !theirs;
  }

  /// Whether all who write parts of the target can use the same sticks.
  static bool sharesSticks(const Nest &nest, unsigned index, ComputeOp copy) {
    if (index + 1 < nest.maps.size()) {
      return true;
    }
    return llvm::all_of(copy.getOutput().getUsers(), [&](mlir::Operation *user) {
      auto other = llvm::dyn_cast<ComputeOp>(user);
      return !other || other == copy || other.getOutput() != copy.getOutput() ||
             agreeOnSticks(nest, index, other);
    });
  }

  Decision rename(ComputeOp copy, const Renaming &renaming, std::vector<Nest> &nests) {
    mlir::Value source = copy.getInputs()[0];
    if (llvm::any_of(source.getUsers(), storesInInput)) {
      return Decision::no("new-contents", "the buffer can be the input that gets its contents");
    }
    for (mlir::Operation *user : source.getUsers()) {
      auto op = llvm::dyn_cast<ComputeOp>(user);
      if (!op || op.getIndirect() || op->hasAttr(kOverwritesPadding)) {
        return Decision::no("special-access", "'{}' needs the buffer as it is",
                            user->getName().getStringRef().str());
      }
      if (op == copy || llvm::any_of(nests, [&](const Nest &nest) { return nest.op == op; })) {
        continue;
      }
      Nest &nest = nests.emplace_back(op);
      for (unsigned i = 0; i < operandCount(op); ++i) {
        if (op->getOperand(i) == source && (!renaming.apply(nest, i) || !nest.keepsNamedLanes(i))) {
          return Decision::no("loops-do-not-fit", "'{}' walks across its dimensions",
                              op.getCallee().str());
        }
        if (op->getOperand(i) == source && !sharesSticks(nest, i, copy)) {
          return Decision::no("sticks-differ",
                              "'{}' and who writes the other parts do not have "
                              "sticks along one dimension",
                              op.getCallee().str());
        }
      }
    }
    return Decision::yes("same-places", "the value is computed where it belongs");
  }

  Decision elide(ComputeOp copy) {
    Decision decision = checkTarget(copy);
    if (!decision) {
      return decision;
    }
    std::optional<Renaming> renaming = Renaming::of(copy);
    if (!renaming) {
      return Decision::no("not-a-renaming", "the copy repeats or leaves out elements");
    }
    std::vector<Nest> nests;
    decision = rename(copy, *renaming, nests);
    if (!decision) {
      return decision;
    }
    for (Nest &nest : nests) {
      nest.commit(rewriter);
    }
    BufferOp source = bufferOf(copy.getInputs()[0]);
    copy.erase();
    source.erase();
    return decision;
  }

  mlir::func::FuncOp function;
  DecisionTrace *trace;
  Rewriter rewriter;
};

struct ElideCopies : LoopPass<impl::ElideCopiesPassBase<ElideCopies>> {
  Status runOnMain(mlir::func::FuncOp main) override {
    Elider(main, trace).run();
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createElideCopiesPass(DecisionTrace *trace) {
  return createLoopPass<ElideCopies>(trace);
}

} // namespace spyre::loop
