//===- JsonMutator.cpp - libFuzzer changes of JSON that stay JSON ---------------------------===//
//
// Half of the changes are libFuzzer's own, so that malformed text is tried as well.
//===--------------------------------------------------------------------------------------------===//
#include "Mutations.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  spyre::Random random(seed);
  if (random.below(2) == 0) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  const std::string text(reinterpret_cast<const char *>(data), size);
  const std::string changed = spyre::fuzz::mutateJson(text, random);
  if (changed.empty() || changed.size() > maxSize) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
