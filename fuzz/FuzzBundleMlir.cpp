//===- FuzzBundleMlir.cpp - any bytes into the bundle.mlir parser ---------------------------===//
#include "spyre/Spec/Bundle.h"

#include "FuzzInput.h"

using namespace spyre;

/// A valid file for any name: what follows the parser must bear any list of names too.
static const std::string &someSuperDsc() {
  static const std::string text = [] {
    std::vector<spec::Coordinate> coordinates = {spec::Coordinate::floorDiv("c0", 64, 0),
                                                 spec::Coordinate::mod("c0", 64)};
    spec::OpSpec op;
    op.op = "identity";
    op.iterationSpace = {{"c0", 64, 1}};
    for (int64_t i = 0; i < 2; ++i) {
      spec::TensorArg arg;
      arg.isInput = i == 0;
      arg.argIndex = i;
      arg.deviceSize = {1, 64};
      arg.deviceCoordinates = coordinates;
      arg.address = i << 34;
      op.args.push_back(arg);
    }
    auto files = spec::generateBundle({op});
    SPYRE_CHECK(files.ok(), "the example is valid");
    return files->at("sdsc_0.json");
  }();
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string bytes = fuzz::inputBytes(data, size);
  auto bundle = spec::parseBundleMlir(bytes);
  if (!bundle.ok()) {
    fuzz::checkRefusal(bundle.status(), {5004});
  } else {
    auto again = spec::parseBundleMlir(spec::writeBundleMlir(*bundle));
    SPYRE_CHECK(again.ok() && *again == *bundle, "text round trip");
    auto calls = spec::expandBundle(*bundle);
    SPYRE_CHECK(calls.ok(), "what is parsed is small enough to unroll");
    for (const spec::BundleCall &call : *calls) {
      for (const spec::AddressExpr &operand : call.execute->operands) {
        (void)spec::constantPart(operand, call.loopIndices);
      }
    }
  }
  auto contents = spec::readBundle(
      {{"bundle.mlir", bytes}, {"sdsc_0.json", someSuperDsc()}, {"sdsc_1.json", "{}"}});
  SPYRE_CHECK(bundle.ok() || !contents.ok(), "a bundle that is refused is not read");
  return 0;
}
