//===- ModelRun.h - the evaluator on a compiled model ---------------------------------------===//
//
// Reads model.json and the op_spec.txt of each bundle; programs are not looked at.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace spyre::evaluator {

/// Device bytes of tensors, by their names in model.json.
using DeviceBytes = std::map<std::string, std::vector<uint8_t>>;

/// Runs the bundles in order. \p tensors are the inputs and outputs of the model as they lie before
/// the run, and then as they lie after it. Errors: E6001 (model.json), E6206 (CPU steps), those of
/// the OpSpec parser and of evaluate().
Status evaluateModel(const Artifacts &artifacts, DeviceBytes &tensors);

} // namespace spyre::evaluator
