//===- HostRetry.cpp - see HostRetry.h ------------------------------------------------------===//
#include "spyre/Pipelines/HostRetry.h"

#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Graph/Transforms/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

#include "Session.h"

#include <algorithm>
#include <array>
#include <set>

namespace spyre::pipelines {

bool isBackEndRefusal(const Status &status) {
  constexpr std::array kRefusals = {5001, 5004, 5301, 5302, 5303, 5304, 5320};
  return std::find(kRefusals.begin(), kRefusals.end(), status.code()) != kRefusals.end();
}

bool isPlannerRefusal(const Status &status) {
  constexpr std::array kRefusals = {1201, 1203, 1206, 3060, 3062, 3064,
                                    3065, 3070, 3071, 3072, 3202};
  return isBackEndRefusal(status) ||
         std::find(kRefusals.begin(), kRefusals.end(), status.code()) != kRefusals.end();
}

Expected<std::string> withNodeLocations(const std::string &graphText) {
  Session session;
  SPYRE_ASSIGN_OR_RETURN(auto module, parseIr(graphText, session));
  module->walk([](graph::CallOp call) {
    const auto fused = llvm::dyn_cast<mlir::FusedLoc>(call->getLoc());
    if (call.getNodeAttr() && !(fused && fused.getMetadata())) {
      call->setLoc(mlir::FusedLoc::get({call->getLoc()}, call.getNodeAttr(), call->getContext()));
    }
  });
  return printIr(*module);
}

/// True for calls of one operation with equal attributes and types.
static bool areEqual(graph::CallOp a, graph::CallOp b) {
  mlir::NamedAttrList of = a->getAttrDictionary(), other = b->getAttrDictionary();
  of.erase(a.getNodeAttrName());
  other.erase(b.getNodeAttrName());
  return of == other && a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes();
}

namespace {

/// Chooses the calls that leave the device next.
class Chooser {
public:
  explicit Chooser(mlir::ModuleOp module) {
    module->walk([&](graph::CallOp call) {
      if (call.getNode()) {
        (call->hasAttr(graph::kRefused) ? refused : calls).push_back(call);
      }
    });
  }

  /// Node numbers; none where all calls with a number are refused already.
  std::set<int64_t> choose(const Culprit &culprit) const {
    std::set<int64_t> nodes;
    llvm::SmallPtrSet<mlir::Operation *, 16> seen;
    for (graph::CallOp named : calls) {
      for (graph::CallOp call : calls) {
        if (nodeOf(named) == culprit.node && (call == named || areEqual(call, named))) {
          nodes.insert(nodeOf(call));
        }
      }
    }
    if (nodes.empty()) {
      // Operands of a refused call are copied for the CPU by operations that belong to the call.
      for (graph::CallOp call : refused) {
        if (nodeOf(call) == culprit.node) {
          addProducers(call, nodes, seen);
        }
      }
    }
    for (graph::CallOp call : nodes.empty() ? calls : llvm::SmallVector<graph::CallOp>()) {
      nodes.insert(nodeOf(call));
    }
    return nodes;
  }

  void refuse(const std::set<int64_t> &nodes, const Status &why) const {
    for (graph::CallOp call : calls) {
      if (nodes.count(nodeOf(call)) != 0) {
        call->setAttr(graph::kRefused, mlir::StringAttr::get(call.getContext(), why.message()));
      }
    }
  }

private:
  static int64_t nodeOf(graph::CallOp call) { return int64_t(*call.getNode()); }

  /// Calls on the device whose results \p call reads, by itself or through refused calls.
  static void addProducers(graph::CallOp call, std::set<int64_t> &nodes,
                           llvm::SmallPtrSetImpl<mlir::Operation *> &seen) {
    if (!seen.insert(call).second) {
      return;
    }
    for (mlir::Value operand : call.getOperands()) {
      auto producer = operand.getDefiningOp<graph::CallOp>();
      if (producer && producer.getNode() && !producer->hasAttr(graph::kRefused)) {
        nodes.insert(nodeOf(producer));
      } else if (producer) {
        addProducers(producer, nodes, seen);
      }
    }
  }

  llvm::SmallVector<graph::CallOp> calls, refused;
};

} // namespace

Expected<std::string> refusingCalls(const std::string &graphText, const Culprit &culprit,
                                    const Status &why) {
  Session session;
  SPYRE_ASSIGN_OR_RETURN(auto module, parseIr(graphText, session));
  const Chooser chooser(*module);
  const std::set<int64_t> nodes = chooser.choose(culprit);
  if (nodes.empty()) {
    return graphText;
  }
  chooser.refuse(nodes, why);
  return printIr(*module);
}

} // namespace spyre::pipelines
