//===- Dl16Table.cpp - tables of functions of one DLFloat16 value ---------------------------===//
#include "spyre/Numerics/Dl16Table.h"

#include "spyre/Numerics/Formats.h"

#include "LooseTypes.h"

#include <numeric>

namespace spyre::numerics {

static constexpr size_t kPatterns = 0x10000;

Dl16Table::Dl16Table(Function function) : results(kPatterns) {
  std::vector<float> values(kPatterns);
  std::iota(results.begin(), results.end(), uint16_t(0));
  deviceToFloat(DataFormat::Sen169Fp16, results.data(), values.data(), int64_t(kPatterns));
  function(values.data(), values.data(), int64_t(kPatterns));
  floatToDevice(DataFormat::Sen169Fp16, values.data(), results.data(), int64_t(kPatterns));
}

void Dl16Table::apply(const void *in, void *out, int64_t count) const {
  // Not auto: it would lose the attributes of the loose types.
  const Half *from = static_cast<const Half *>(in);
  Half *to = static_cast<Half *>(out);
  const uint16_t *__restrict table = results.data();
  for (int64_t i = 0; i < count; ++i) {
    to[i] = table[from[i]];
  }
}

} // namespace spyre::numerics
