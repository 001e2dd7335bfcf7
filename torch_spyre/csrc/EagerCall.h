//===- EagerCall.h - one eager call: its tensors and its key --------------------------------===//
//
// The key is everything the code of a program depends on, as numbers: the operation, and per
// argument the element type, the geometry of the storage (by pointer: geometries are interned), the
// view of it, or the constant. Equal keys, equal programs.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "ATen/core/Tensor.h"
#include "EagerPlan.h"
#include "c10/util/SmallVector.h"

#include <unordered_map>

namespace spyre::plugin {

using KeyWords = c10::SmallVector<uint64_t, 48>;
using KeyRef = c10::ArrayRef<uint64_t>;

struct KeyHash {
  using is_transparent = void;
  size_t operator()(KeyRef key) const {
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (uint64_t word : key) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 29;
    }
    return size_t(hash);
  }
};

struct KeyEqual {
  using is_transparent = void;
  bool operator()(KeyRef a, KeyRef b) const { return a == b; }
};

/// Looked up without making a vector of the key.
template <typename T>
using KeyMap = std::unordered_map<std::vector<uint64_t>, T, KeyHash, KeyEqual>;

/// Element type, geometry and view of a tensor with elements.
void addTensorToKey(KeyWords &key, const at::Tensor &tensor);

class EagerCall {
public:
  /// Reads the arguments of the functional form. False when some argument has no place in a graph;
  /// then the operation is not for the compiler.
  bool read(const EagerPlan &plan, c10::ArrayRef<c10::IValue> arguments);

  /// The tensors on the device, each once.
  c10::SmallVector<at::Tensor, 4> inputs;
  KeyWords key;
  /// Words of the key that are values of numbers.
  c10::SmallVector<uint32_t, 4> numbers;
  /// Some tensor has no elements; there is no key then.
  bool hasEmpty = false;

  /// Number of \p tensor among the inputs, or -1.
  int64_t inputOf(const at::Tensor &tensor) const;

private:
  bool readTensor(const at::Tensor &tensor);
  bool readValue(const c10::IValue &value);
  bool readScalarTensor(const at::Tensor &tensor);
  void addNumber(uint64_t bits);
};

/// A number that torch's Python binding wrapped, or a scalar tensor the user left on the CPU.
inline bool isHostScalar(const at::Tensor &tensor) { return tensor.is_cpu() && tensor.dim() == 0; }

} // namespace spyre::plugin
