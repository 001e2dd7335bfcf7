//===- HostSteps.cpp - see HostSteps.h ------------------------------------------------------===//
#include "HostSteps.h"

#include "spyre/Dialect/Utils/Attributes.h"

#include <map>

namespace spyre {

static std::vector<std::string> namesOf(mlir::ValueRange values) {
  std::vector<std::string> names;
  for (mlir::Value value : values) {
    names.push_back(value.getDefiningOp<loop::BufferOp>().getName().str());
  }
  return names;
}

spec::CpuStep cpuStep(loop::HostOp op) {
  return {op.getCallee().str(),
          int64_t(op.getNode()),
          dialect::toVector(op.getResultNumbers()),
          namesOf(op.getInputs()),
          namesOf(op.getOutputs()),
          int64_t(op.getGate()),
          op.getReason().str(),
          dialect::sourceLine(op.getLoc())};
}

spec::HostValue hostValue(loop::BufferOp buffer) {
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  std::string dtype;
  llvm::raw_string_ostream(dtype) << type.getElementType();
  return {buffer.getName().str(), dtype, dialect::toVector(type.getShape())};
}

static std::vector<std::string> touchedBy(const spec::ModelStep &step) {
  if (const auto *bundle = std::get_if<spec::BundleStep>(&step)) {
    return bundle->arguments;
  }
  const auto &cpu = std::get<spec::CpuStep>(step);
  std::vector<std::string> names = cpu.inputs;
  names.insert(names.end(), cpu.outputs.begin(), cpu.outputs.end());
  return names;
}

void addAllocations(spec::Model &model) {
  std::map<std::string, std::pair<size_t, size_t>> spans; // first and last step
  for (size_t i = 0; i < model.steps.size(); ++i) {
    for (const std::string &name : touchedBy(model.steps[i])) {
      spans.try_emplace(name, i, i).first->second.second = i;
    }
  }
  std::erase_if(model.buffers,
                [&](const spec::TensorDesc &buffer) { return spans.count(buffer.name) == 0; });
  std::vector<spec::ModelStep> steps;
  for (size_t i = 0; i < model.steps.size(); ++i) {
    for (const spec::TensorDesc &buffer : model.buffers) {
      if (spans[buffer.name].first == i) {
        steps.push_back(spec::AllocateStep{buffer.name});
      }
    }
    steps.push_back(std::move(model.steps[i]));
    for (const spec::TensorDesc &buffer : model.buffers) {
      if (spans[buffer.name].second == i) {
        steps.push_back(spec::FreeStep{buffer.name});
      }
    }
  }
  model.steps = std::move(steps);
}

} // namespace spyre
