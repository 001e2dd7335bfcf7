//===- BundlePlan.cpp - unroll loops, resolve symbols ---------------------------------------===//
#include "BundlePlan.h"

#include <map>

namespace spyre::backend {

namespace {

using spec::AddressExpr;
using spec::BundleCall;
using spec::DscTensor;
using spec::SuperDsc;

/// Start addresses of all operations together; a looped bundle repeats them per iteration.
constexpr int64_t kMaxStartAddresses = int64_t(1) << 24;

class Planner {
public:
  Planner(spec::BundleContents &contents, const arch::DeviceDesc &machine)
      : contents(contents), machine(machine) {
    plan.arguments = contents.bundle.arguments;
    plan.nonTerminal = contents.bundle.nonTerminal;
    plan.device = machine;
    plan.firstArgumentSegment = machine.segments;
    if (!plan.arguments.empty()) {
      // One behind the arguments is the program's, as in every machine.
      plan.device.segments += int64_t(plan.arguments.size()) + 1;
    }
  }

  Expected<BundlePlan> run() {
    SPYRE_ASSIGN_OR_RETURN(std::vector<BundleCall> calls, spec::expandBundle(contents.bundle));
    std::map<std::string_view, size_t> uses;
    for (const BundleCall &call : calls) {
      ++uses[call.execute->file];
    }
    for (const BundleCall &call : calls) {
      const std::string &file = call.execute->file;
      SuperDsc &read = contents.operations.at(file);
      // The last one takes it: mostly there is one, and a bundle may have thousands.
      const bool isLast = --uses[file] == 0;
      Status added = addOperation(call, isLast ? std::move(read) : read);
      if (!added.ok()) {
        return added.withContext(file + ": ");
      }
    }
    return std::move(plan);
  }

private:
  Status addOperation(const BundleCall &call, SuperDsc dsc) {
    startAddresses += dsc.cores * int64_t(dsc.tensors.size());
    if (startAddresses > kMaxStartAddresses) {
      return error<5311>("the operations of the unrolled bundle have more than {} start addresses; "
                         "split the bundle",
                         kMaxStartAddresses);
    }
    SPYRE_RETURN_IF_ERROR(verifySuperDsc(dsc, machine));
    bool isAsWritten = plan.arguments.empty();
    SPYRE_ASSIGN_OR_RETURN(auto addressOfId, resolve(call));
    for (DscTensor &tensor : dsc.tensors) {
      for (int64_t &start : tensor.startAddress) {
        if (!tensor.symbolic) {
          break;
        }
        auto found = addressOfId.find(start);
        if (found == addressOfId.end()) {
          return error<5311>("{} starts at symbol {}, which is not in the symbol_ids of its "
                             "execute; list every symbol of the file",
                             tensor.name, start);
        }
        start = found->second;
      }
      isAsWritten &= !tensor.symbolic;
      tensor.symbolic = false;
    }
    if (!isAsWritten) {
      SPYRE_RETURN_IF_ERROR(verifySuperDsc(dsc, plan.device));
    }
    plan.operations.push_back(std::move(dsc));
    return Status::success();
  }

  Expected<std::map<int64_t, int64_t>> resolve(const BundleCall &call) const {
    std::map<int64_t, int64_t> addressOfId;
    for (size_t i = 0; i < call.execute->operands.size(); ++i) {
      const int64_t id = call.execute->symbolIds[i];
      Expected<int64_t> address = addressOf(call.execute->operands[i], call.loopIndices);
      if (!address) {
        return address.status().withContext(fmt::format("symbol {}: ", id));
      }
      addressOfId[id] = *address;
    }
    return addressOfId;
  }

  Expected<int64_t> addressOf(const AddressExpr &operand,
                              const std::vector<int64_t> &loopIndices) const {
    SPYRE_ASSIGN_OR_RETURN(int64_t offset, spec::constantPart(operand, loopIndices));
    if (operand.arguments.size() > 1) {
      return error<5311>("its address is the sum of {} arguments; a tensor belongs to one",
                         operand.arguments.size());
    }
    const bool isAbsolute = operand.arguments.empty();
    const int64_t limit =
        isAbsolute ? machine.segmentBase(machine.programSegment()) : machine.segmentBytes;
    if (offset < 0 || offset >= limit) {
      return error<5311>("{} is outside of {} [0, {})", offset,
                         isAbsolute ? "the data segments" : "its argument", limit);
    }
    if (isAbsolute) {
      return offset;
    }
    return plan.device.segmentBase(plan.firstArgumentSegment + operand.arguments[0]) + offset;
  }

  spec::BundleContents &contents;
  const arch::DeviceDesc &machine;
  BundlePlan plan;
  int64_t startAddresses = 0;
};

} // namespace

Expected<BundlePlan> planBundle(const Artifacts &bundle, const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(spec::BundleContents contents, spec::readBundle(bundle));
  return Planner(contents, device).run();
}

void bindSymbols(const BundlePlan &plan, program::Program &program) {
  for (int64_t argument : plan.arguments) {
    program.symbols.push_back({spec::bundleArgumentName(argument), program::kUnsetSymbol});
  }
  const int64_t begin = plan.device.segmentBase(plan.firstArgumentSegment);
  for (program::Buffer &buffer : program.buffers) {
    if (buffer.space == program::Space::Ddr && buffer.base >= begin) {
      buffer.symbol = int32_t((buffer.base - begin) / plan.device.segmentBytes);
      buffer.base = (buffer.base - begin) % plan.device.segmentBytes;
    }
  }
}

std::optional<spec::ProgramCorrection> correctionOf(const BundlePlan &plan,
                                                    int64_t programAddress) {
  if (plan.arguments.empty()) {
    return std::nullopt;
  }
  const auto first = int64_t(program::symbolValueOffset(0));
  spec::ProgramCorrection correction;
  correction.devicePointer = programAddress + first;
  correction.sizeBytes = int64_t(program::symbolValueOffset(plan.arguments.size())) - first;
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    correction.slots.push_back({int64_t(program::symbolValueOffset(i)) - first, plan.arguments[i]});
  }
  return correction;
}

} // namespace spyre::backend
