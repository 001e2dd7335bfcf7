//===- Harness.cpp - see Harness.h ----------------------------------------------------------===//
#include "Harness.h"

#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Base/Math.h"

#include <algorithm>

namespace spyre::backend::test {

arch::DeviceDesc presetDevice(const std::string &name) {
  Expected<arch::DeviceDesc> device = arch::DeviceDesc::preset(name);
  SPYRE_CHECK(device.ok(), "presets exist");
  return *device;
}

Expected<spec::SuperDsc> throughJson(const spec::OpSpec &spec, int64_t index) {
  SPYRE_ASSIGN_OR_RETURN(spec::SuperDsc dsc, spec::emitSuperDsc(spec, index));
  return spec::readSuperDsc(spec::writeSuperDsc(dsc));
}

Expected<program::Program> lowerAll(const std::vector<spec::OpSpec> &specs,
                                    const arch::DeviceDesc &device) {
  std::vector<spec::SuperDsc> operations;
  for (size_t i = 0; i < specs.size(); ++i) {
    SPYRE_ASSIGN_OR_RETURN(spec::SuperDsc dsc, throughJson(specs[i], int64_t(i)));
    SPYRE_RETURN_IF_ERROR(spec::verifySuperDsc(dsc, device));
    operations.push_back(std::move(dsc));
  }
  SPYRE_ASSIGN_OR_RETURN(program::Program program, lowerSuperDscs(operations, device));
  SPYRE_RETURN_IF_ERROR(program::verifyProgram(program, device));
  return program;
}

static int64_t rangeOf(const spec::OpSpec &spec, const std::string &symbol) {
  for (const spec::IterationDim &dim : spec.iterationSpace) {
    if (dim.symbol == symbol) {
      return dim.range;
    }
  }
  return 0;
}

/// Whether any pixel and window element are at \p position.
static bool windowMeets(const spec::OpSpec &spec, const spec::Coordinate &coordinate,
                        int64_t position) {
  for (int64_t at = 0; at < rangeOf(spec, coordinate.windowSymbol); ++at) {
    int64_t rest = position - at * coordinate.windowFactor;
    if (rest >= 0 && rest % coordinate.factor == 0 &&
        rest / coordinate.factor < rangeOf(spec, coordinate.symbol)) {
      return true;
    }
  }
  return false;
}

/// Elements of the coordinate's symbol that exist at device index \p index: 0 or 1, for a stick
/// dimension up to a whole stick.
static int64_t dataElements(const spec::OpSpec &spec, const spec::Coordinate &coordinate,
                            int64_t index) {
  int64_t position = index - coordinate.offset;
  if (coordinate.kind == spec::Coordinate::Kind::Indirect) {
    return 1; // Any entry may be chosen.
  }
  if (coordinate.kind == spec::Coordinate::Kind::Constant) {
    return position == 0 ? 1 : 0;
  }
  if (coordinate.kind == spec::Coordinate::Kind::Window) {
    return windowMeets(spec, coordinate, position) ? 1 : 0;
  }
  for (const spec::IterationDim &dim : spec.iterationSpace) {
    if (dim.symbol == coordinate.symbol) {
      int64_t first = position * coordinate.divisor;
      return position < 0 ? 0 : std::clamp<int64_t>(dim.range - first, 0, coordinate.divisor);
    }
  }
  return 0;
}

/// Lanes with data of a stick without a stick symbol: one value, or the pair of a layer norm.
static int64_t sparseLanes(const spec::OpSpec &spec, const spec::TensorArg &arg) {
  const spec::TensorArg *first = spec.args.data();
  while (first->isIndex()) {
    ++first;
  }
  bool isPair = (spec.op == "layernormscale" && &arg == first) ||
                (spec.op == "layernormnorm" && &arg == first + 1) ||
                (spec.op.starts_with("exx2") && &arg == &spec.args.back());
  return isPair ? 2 : 1;
}

/// In conversions that move positions along the stick dimension: the input's position of what the
/// output has at \p position. Two sticks of the wide side are dealt out to the dense one in groups
/// of 8.
static int64_t positionInInput(const spec::OpSpec &spec, int64_t position) {
  const std::string &stick = spec.args[0].deviceCoordinates.back().symbol;
  int64_t in = spec::stickElements(spec.args[0], stick);
  int64_t out = spec::stickElements(spec.args[1], stick);
  int64_t dense = std::max(in, out), wide = std::min(in, out);
  int64_t base = position / dense * dense, at = position % dense;
  return out == dense ? base + at / 8 % 2 * wide + at / 16 * 8 + at % 8
                      : base + (at % wide / 8 * 2 + at / wide) * 8 + at % 8;
}

static bool isPacked(const spec::OpSpec &spec) {
  return spec.op == "dl16tofp32" || spec.op == "fp32todl16" || spec.op == "fp8todl16" ||
         spec.op == "qfp8ch" || spec.op == "csqint8ch" || spec.op == "csqint4" ||
         spec.op == "x_int8todl16" || spec.op == "x_int16tofp32" || spec.op == "x_fp32toint16";
}

namespace {

/// Which elements of an argument are some point of the iteration space.
class DataElements {
public:
  DataElements(const spec::OpSpec &spec, const spec::TensorArg &arg) : spec(spec), arg(arg) {
    for (const spec::Coordinate &coordinate : arg.deviceCoordinates) {
      size_t symbol = 0;
      while (symbol < spec.iterationSpace.size() &&
             spec.iterationSpace[symbol].symbol != coordinate.symbol) {
        ++symbol;
      }
      symbols.push_back(symbol);
    }
    moved = isPacked(spec) && !arg.isInput ? symbols.back() : spec.iterationSpace.size();
  }

  /// \p element counts row-major.
  bool contains(int64_t element) {
    values.assign(spec.iterationSpace.size() + 1, 0);
    for (size_t d = arg.deviceSize.size(); d-- > 0; element /= arg.deviceSize[d]) {
      const spec::Coordinate &coordinate = arg.deviceCoordinates[d];
      int64_t index = element % arg.deviceSize[d] - coordinate.offset;
      bool isMod = coordinate.kind == spec::Coordinate::Kind::Mod;
      if (index < 0 || (coordinate.symbol.empty() && index != 0)) {
        return false;
      }
      values[symbols[d]] += index * (isMod ? coordinate.inner : coordinate.divisor);
    }
    for (size_t i = 0; i < spec.iterationSpace.size(); ++i) {
      int64_t value = i == moved ? positionInInput(spec, values[i]) : values[i];
      if (value >= spec.iterationSpace[i].range) {
        return false;
      }
    }
    return true;
  }

private:
  const spec::OpSpec &spec;
  const spec::TensorArg &arg;
  /// Of each device dimension; one more than there are for constants.
  std::vector<size_t> symbols;
  std::vector<int64_t> values;
  size_t moved = 0;
};

} // namespace

/// Element by element: for sticks whose data are not their first lanes.
static std::vector<uint64_t> scatteredPadding(const spec::OpSpec &spec,
                                              const spec::TensorArg &arg) {
  int64_t lanes = numerics::elemsPerStick(arg.deviceDtype), elements = 1;
  for (int64_t size : arg.deviceSize) {
    elements *= size;
  }
  std::vector<uint64_t> masks(size_t(elements / lanes), ~uint64_t(0));
  DataElements data(spec, arg);
  for (int64_t element = 0; element < elements; ++element) {
    if (data.contains(element)) {
      // Two bytes have a bit.
      int64_t first = element % lanes * 64 / lanes, last = ((element % lanes + 1) * 64 - 1) / lanes;
      for (int64_t bit = first; bit <= last; ++bit) {
        masks[size_t(element / lanes)] &= ~(uint64_t(1) << bit);
      }
    }
  }
  return masks;
}

std::vector<uint64_t> paddingOf(const spec::OpSpec &spec, const spec::TensorArg &arg) {
  const spec::Coordinate &lane = arg.deviceCoordinates.back();
  // A stick symbol without a tile index has a single, perhaps partial stick.
  bool isTiled = lane.symbol.empty() ||
                 std::any_of(arg.deviceCoordinates.begin(), arg.deviceCoordinates.end() - 1,
                             [&](const spec::Coordinate &c) { return c.symbol == lane.symbol; });
  if (spec::stickRank(arg) > 1 || (isPacked(spec) && !arg.isInput) || !isTiled) {
    return scatteredPadding(spec, arg);
  }
  size_t outer = arg.deviceSize.size() - 1;
  int64_t sticks = 1;
  for (size_t d = 0; d < outer; ++d) {
    sticks *= arg.deviceSize[d];
  }
  bool sparse = arg.deviceCoordinates[outer].kind == spec::Coordinate::Kind::Constant;
  std::vector<uint64_t> masks;
  for (int64_t stick = 0; stick < sticks; ++stick) {
    int64_t lanes = sparse ? sparseLanes(spec, arg) : arg.deviceSize[outer];
    int64_t rest = stick;
    for (size_t d = outer; d-- > 0; rest /= arg.deviceSize[d]) {
      const spec::Coordinate &coordinate = arg.deviceCoordinates[d];
      int64_t data = dataElements(spec, coordinate, rest % arg.deviceSize[d]);
      bool isStick = coordinate.kind == spec::Coordinate::Kind::Floor;
      lanes = isStick || data == 0 ? std::min(lanes, data) : lanes;
    }
    int64_t bits = ceilDiv(lanes * numerics::elementBytes(arg.deviceDtype), int64_t(2));
    masks.push_back(bits == 64 ? 0 : ~uint64_t(0) << bits);
  }
  return masks;
}

Card::Card(const arch::DeviceDesc &device) : device(device) {
  std::string json = device.toJson();
  spyre_sim_config config{};
  config.device_json = json.c_str();
  config.threads = 1;
  config.sanitizer = 1;
  const char *error = nullptr;
  sim.reset(spyre_sim_create(&config, &error));
  SPYRE_CHECK(sim != nullptr, "the simulator accepts every preset");
}

Status Card::check(int code) {
  return code == 0 ? Status::success() : Status(7000, spyre_sim_last_error(sim.get()));
}

Status Card::run(const program::Program &program, evaluator::Memory &memory,
                 const spec::OpSpec *spec) {
  std::vector<std::vector<uint8_t> *> buffers;
  if (!memory.pool.empty()) {
    buffers.push_back(&memory.pool);
  }
  for (std::vector<uint8_t> &argument : memory.arguments) {
    buffers.push_back(&argument);
  }
  std::vector<spyre_sim_segment> segments(size_t(device.segments), {0, 0});
  uint64_t next = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    segments[i] = {next, buffers[i]->size()};
    std::vector<uint64_t> padding =
        spec ? paddingOf(*spec, spec->args[i]) : std::vector<uint64_t>(buffers[i]->size() / 128);
    if (spec && !spec->args[i].isInput) {
      padding.assign(padding.size(), ~uint64_t(0));
    }
    SPYRE_RETURN_IF_ERROR(check(spyre_sim_write_sticks(sim.get(), next, buffers[i]->data(),
                                                       buffers[i]->size(), padding.data())));
    next += uint64_t(roundUp(int64_t(buffers[i]->size()), 4096));
  }
  std::string bytes = program::writeProgram(program);
  bytes.resize(size_t(roundUp(int64_t(bytes.size()), 128)), '\0');
  segments[size_t(device.programSegment())] = {next, 128 + bytes.size()};
  SPYRE_RETURN_IF_ERROR(check(spyre_sim_write(sim.get(), next + 128, bytes.data(), bytes.size())));

  spyre_sim_reset_counters(sim.get());
  uint64_t address = uint64_t(device.segmentBase(device.programSegment())) + 128;
  SPYRE_RETURN_IF_ERROR(check(spyre_sim_launch(sim.get(), address, bytes.size(), segments.data(),
                                               uint32_t(segments.size()), 0)));
  spyre_sim_get_counters(sim.get(), &counters);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (spec && !spec->args[i].isInput) {
      std::vector<uint8_t> data(buffers[i]->size());
      std::vector<uint64_t> padding = paddingOf(*spec, spec->args[i]);
      SPYRE_RETURN_IF_ERROR(check(spyre_sim_read_sticks(sim.get(), segments[i].physical_base,
                                                        data.data(), data.size(), padding.data())));
    }
    SPYRE_RETURN_IF_ERROR(check(spyre_sim_read(sim.get(), segments[i].physical_base,
                                               buffers[i]->data(), buffers[i]->size())));
  }
  return Status::success();
}

std::vector<uint8_t> Card::readLx(uint32_t core, uint64_t address, uint64_t bytes) {
  std::vector<uint8_t> data(bytes);
  SPYRE_CHECK(spyre_sim_read_lx(sim.get(), core, address, data.data(), bytes) == 0,
              "tests read inside LX");
  return data;
}

std::vector<spyre_sim_event> Card::events() {
  std::vector<spyre_sim_event> found(spyre_sim_get_trace(sim.get(), nullptr, 0));
  spyre_sim_get_trace(sim.get(), found.data(), found.size());
  return found;
}

} // namespace spyre::backend::test
