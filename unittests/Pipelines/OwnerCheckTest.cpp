//===- OwnerCheckTest.cpp - a pass that breaks owners is caught by its name -----------------===//
#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Pipelines/Pipelines.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

#include "gtest/gtest.h"

namespace spyre::pipelines {

namespace {

constexpr const char *kGraph = R"mlir(
func.func @main(%x: tensor<256x512xf16> {graph.layout = {device_size = array<i64: 8, 256, 64>,
    format = "SEN169_FP16", stride_map = array<i64: 64, 512, 1>}, graph.name = "x",
    graph.offset = 0 : i64, graph.stride = array<i64: 512, 1>})
    -> (tensor<256x512xf16> {graph.stride = array<i64: 512, 1>}) {
  %0 = graph.call "aten.exp.default"(%x) : (tensor<256x512xf16>) -> tensor<256x512xf16>
  return %0 : tensor<256x512xf16>
}
)mlir";

/// What is done to every operation.
using Edit = void (*)(loop::ComputeOp);

class Breaker : public mlir::PassWrapper<Breaker, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Breaker)
  Breaker(const char *name, Edit edit) : name(name), edit(edit) {}
  llvm::StringRef getArgument() const final { return name; }
  llvm::StringRef getDescription() const final { return "Edits operations."; }
  void runOnOperation() final { getOperation().walk(edit); }

private:
  const char *name;
  Edit edit;
};

Status runWith(PassPoint point, const char *name, Edit edit, int64_t spanLimitBytes = 0) {
  mlir::registerPass([=] { return std::make_unique<Breaker>(name, edit); });
  Options options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.userPasses.pipelines[point] = name;
  options.device.spanLimitBytes =
      spanLimitBytes > 0 ? spanLimitBytes : options.device.spanLimitBytes;
  return runIrPhases(Phase::Graph, Phase::Division, kGraph, options).status();
}

} // namespace

TEST(OwnerCheck, SoundPassesPass) {
  const Status status = runWith(PassPoint::PostFusion, "leave-alone", [](loop::ComputeOp) {});
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(OwnerCheck, MissingOwnersAreThePassesFault) {
  const Status status = runWith(PassPoint::PreFusion, "drop-owners",
                                [](loop::ComputeOp op) { op->removeAttr(loop::kOwners); });
  EXPECT_EQ(status.code(), 3144);
  EXPECT_NE(status.text().find("after pass drop-owners: 'exp"), std::string::npos) << status.text();
}

// What the verifier of the operation finds already is its error; it names the user's passes.
TEST(OwnerCheck, OwnersOfOtherSplitsAreThePassesFault) {
  const Status status = runWith(PassPoint::PostFusion, "fewer-slices", [](loop::ComputeOp op) {
    op.setSplits(std::vector<int64_t>(op.getExtents().size(), 2));
  });
  EXPECT_EQ(status.code(), 1502);
  EXPECT_NE(status.text().find("post-fusion: fewer-slices"), std::string::npos) << status.text();
}

// A stick that two cores share is no fault of the owners alone: it takes the tensors to see it.
TEST(OwnerCheck, CutSticksAreThePassesFault) {
  const Status status = runWith(PassPoint::PostFusion, "cut-sticks", [](loop::ComputeOp op) {
    loop::divide(op, {1, 32}); // of 8 sticks
  });
  EXPECT_EQ(status.code(), 3072) << status.text();
  EXPECT_NE(status.text().find("after pass cut-sticks: "), std::string::npos) << status.text();
}

// One core reaches over all of the 256 KiB; 32 of them over 8 KiB each, or the rows of all columns.
TEST(OwnerCheck, SpansAreRecomputedFromTheOwners) {
  const auto onOneCore = [](loop::ComputeOp op) {
    loop::divide(op, std::vector<int64_t>(op.getExtents().size(), 1));
  };
  EXPECT_TRUE(runWith(PassPoint::PostFusion, "one-core", onOneCore).ok());
  const Status status = runWith(PassPoint::PostFusion, "one-core-again", onOneCore, 240 * 1024);
  EXPECT_EQ(status.code(), 3064) << status.text();
  EXPECT_NE(status.text().find("after pass one-core-again: "), std::string::npos) << status.text();
}

} // namespace spyre::pipelines
