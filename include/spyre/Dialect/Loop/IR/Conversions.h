//===- Conversions.h - element types of different widths ------------------------------------===//
//
// The device converts between a dense and a wide element type; two sticks of the wide one have the
// elements of one stick of the dense one, in an order of their own (docs/adr/0019).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Numerics/Formats.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>

namespace spyre::loop {

struct Conversion {
  const char *callee;
  numerics::DataFormat from, to;
  /// `csqint8ch` scales and shifts; a conversion of whole numbers does neither.
  bool scales = false;

  /// The result is the wide side.
  bool widens() const { return numerics::elemsPerStick(from) > numerics::elemsPerStick(to); }
  mlir::DictionaryAttr constants(mlir::MLIRContext *context) const;
};

/// The device operation between two element types; nothing where there is not one.
std::optional<Conversion> findConversion(mlir::Type from, mlir::Type to);
/// The same by the name of the device operation.
std::optional<Conversion> findConversion(llvm::StringRef callee);

} // namespace spyre::loop
