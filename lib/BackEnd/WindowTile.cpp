//===- WindowTile.cpp - rules of window ops, tiles of their input ---------------------------===//
#include "WindowTile.h"

#include <algorithm>

namespace spyre::backend {

using spec::kWindowNames;

static bool isOneOf(const std::string &name, std::initializer_list<const char *> names) {
  return std::any_of(names.begin(), names.end(), [&](const char *one) { return name == one; });
}

/// Which dimensions \p map may have, by its part.
static Status checkDims(const Kernel &kernel, const TensorMap &map, const std::string &reduced,
                        std::initializer_list<const char *> allowed) {
  const std::string stick = map.role == "in0" && !reduced.empty() ? reduced : "out";
  if (map.sparse || map.stickDim != stick) {
    return error<5302>("{}: {} has its stick along '{}'{}; this operation needs '{}', whole sticks",
                       kernel.name, map.role, map.stickDim, map.sparse ? ", broadcast" : "", stick);
  }
  for (const TensorMap::Dim &dim : map.dims) {
    if (!isOneOf(dim.name, allowed) && dim.name != stick) {
      return error<5302>("{}: {} holds '{}'; only {} and '{}' belong there", kernel.name, map.role,
                         dim.name, fmt::join(allowed, ", "), stick);
    }
  }
  return Status::success();
}

static Status checkWindow(const Kernel &kernel, size_t window) {
  const spec::WindowNames &names = kWindowNames[window];
  const spec::DimMap<int64_t> &sizes = kernel.dsc->size;
  const int64_t *pixels = spec::findDim(sizes, names.pixel);
  const int64_t *elements = spec::findDim(sizes, names.window);
  const int64_t *input = spec::findDim(sizes, names.input);
  if (!pixels && !elements && !input) {
    return Status::success();
  }
  if (!pixels || !elements || !input) {
    return error<5302>("{}: '{}', '{}' and '{}' are one window; N_ has all or none", kernel.name,
                       names.pixel, names.window, names.input);
  }
  if (kernel.slices(names.window) != 1 || kernel.slices(names.input) != 1) {
    return error<5302>("{}: '{}' or '{}' is split; split '{}', another dimension or channels",
                       kernel.name, names.window, names.input, names.pixel);
  }
  int64_t reach = spec::windowReach(kernel.windows[window], *pixels, *elements);
  if (reach < 1 || reach > *input) {
    return error<5302>("{}: {} pixels and {} window elements need {} elements of '{}', which has "
                       "{}; pad the input first",
                       kernel.name, *pixels, *elements, reach, names.input, *input);
  }
  if (reach > 1 && !kernel.inputs[0].holds(names.input)) {
    return error<5302>("{}: the input does not hold '{}', which its windows walk along",
                       kernel.name, names.input);
  }
  if (kernel.inputs[0].inLx && kernel.slices(names.pixel) != 1) {
    return error<5302>("{}: the input is in LX and '{}' is split, but windows need what other "
                       "cores hold; split batch or channels, or keep the input in DDR",
                       kernel.name, names.pixel);
  }
  return Status::success();
}

/// Later windows read what earlier ones would have overwritten.
static Status checkNotInPlace(const Kernel &kernel) {
  for (const TensorMap &input : kernel.inputs) {
    for (size_t core = 0; input.inLx && kernel.output.inLx && core < input.startAddress.size();
         ++core) {
      int64_t in = input.startAddress[core], out = kernel.output.startAddress[core];
      if (in < out + kernel.output.spanBytes() && out < in + input.spanBytes()) {
        return error<5302>("{}: {} and the output share LX at {}; windows overlap, so the "
                           "operation cannot work in place",
                           kernel.name, input.role, std::max(in, out));
      }
    }
  }
  return Status::success();
}

Status checkWindowRules(const Kernel &kernel, const std::string &reduced) {
  const char *in = reduced.empty() ? "out" : "in";
  SPYRE_RETURN_IF_ERROR(checkDims(kernel, kernel.inputs[0], reduced, {"mb", "i", "j"}));
  if (kernel.inputs.size() > 1) {
    SPYRE_RETURN_IF_ERROR(checkDims(kernel, kernel.inputs[1], reduced, {"ki", "kj", in}));
  }
  SPYRE_RETURN_IF_ERROR(checkDims(kernel, kernel.output, reduced, {"mb", "y", "x"}));
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (isOneOf(dim, {"mb", "y", "x"}) && !kernel.output.holds(dim) && size > 1) {
      return error<5302>("{}: the output does not hold '{}' of size {}", kernel.name, dim, size);
    }
    if (!isOneOf(dim, {"mb", "y", "x", "out", "ki", "kj", "i", "j"}) && dim != reduced) {
      return error<5302>("{}: there is no dimension '{}' in this operation", kernel.name, dim);
    }
  }
  for (size_t window = 0; window < 2; ++window) {
    SPYRE_RETURN_IF_ERROR(checkWindow(kernel, window));
  }
  SPYRE_RETURN_IF_ERROR(kernel.checkMaskedOnly(reduced));
  return checkNotInPlace(kernel);
}

WindowAxes addWindowAxes(const Kernel &kernel, PhaseBuilder &builder) {
  auto add = [&](const char *name) {
    builder.axes.push_back(Axis::whole(name, kernel.perCore(name)));
    return builder.axes.size() - 1;
  };
  WindowAxes axes;
  axes.batch = add("mb");
  for (size_t window = 0; window < 2; ++window) {
    axes.pixel[window] = add(kWindowNames[window].pixel);
    axes.window[window] = add(kWindowNames[window].window);
  }
  return axes;
}

WindowTile::WindowTile(const Kernel &kernel, const WindowAxes &axes, PhaseBuilder &builder)
    : place(builder.placeOf(kernel.inputs[0])), axes(axes), steps(kernel.windows) {
  const TensorMap &input = kernel.inputs[0];
  place.stride.assign(builder.axes.size(), 0);
  place.stride[axes.batch] = input.strideBytes("mb");
  place.stride[axes.channels] = input.strideBytes(input.stickDim);
  for (size_t window = 0; window < 2; ++window) {
    inputBytes[window] = input.strideBytes(kWindowNames[window].input);
    // Where there is one step its length says nothing and may be anything.
    auto strideOf = [&](size_t axis, int64_t step) {
      return builder.axes[axis].count > 1 ? step * inputBytes[window] : 0;
    };
    place.stride[axes.pixel[window]] = strideOf(axes.pixel[window], steps[window].stride);
    place.stride[axes.window[window]] = strideOf(axes.window[window], steps[window].dilation);
  }
}

int64_t WindowTile::bandOf(size_t window, int64_t pixels, int64_t elements) const {
  // Sizes of a tile are at most those of the input, which was checked.
  return (pixels - 1) * steps[window].stride + (elements - 1) * steps[window].dilation + 1;
}

bool WindowTile::isApart(const PhaseBuilder &builder, size_t window) const {
  int64_t pixels = builder.axes[axes.pixel[window]].tile;
  int64_t elements = builder.axes[axes.window[window]].tile;
  return saturatingProduct(pixels, elements) < bandOf(window, pixels, elements);
}

int64_t WindowTile::extentOf(const PhaseBuilder &builder, size_t window) const {
  int64_t pixels = builder.axes[axes.pixel[window]].tile;
  int64_t elements = builder.axes[axes.window[window]].tile;
  return std::min(saturatingProduct(pixels, elements), bandOf(window, pixels, elements));
}

int64_t WindowTile::sticks(const PhaseBuilder &builder) const {
  int64_t sticks = saturatingProduct(extentOf(builder, 0), extentOf(builder, 1));
  sticks = saturatingProduct(sticks, builder.axes[axes.channels].tile);
  return saturatingProduct(sticks, place.dependsOn(axes.batch) ? builder.axes[axes.batch].tile : 1);
}

std::vector<int64_t> WindowTile::compactStrides(const PhaseBuilder &builder,
                                                int64_t stickBytes) const {
  std::vector<int64_t> strides(builder.axes.size(), 0);
  int64_t bytes = stickBytes;
  for (size_t window : {1, 0}) {
    bool apart = isApart(builder, window);
    int64_t elements = builder.axes[axes.window[window]].tile;
    strides[axes.pixel[window]] = (apart ? elements : steps[window].stride) * bytes;
    strides[axes.window[window]] = (apart ? 1 : steps[window].dilation) * bytes;
    bytes *= extentOf(builder, window);
  }
  strides[axes.channels] = bytes;
  bytes *= builder.axes[axes.channels].tile;
  strides[axes.batch] = place.dependsOn(axes.batch) ? bytes : 0;
  return strides;
}

std::vector<Level> WindowTile::levels(const PhaseBuilder &builder, int64_t stickBytes) const {
  const std::vector<int64_t> compact = compactStrides(builder, stickBytes);
  std::vector<Level> result;
  auto add = [&](int64_t count, int64_t tensorStride, int64_t tileStride) {
    result.push_back({count, {tensorStride, tileStride}});
  };
  if (place.dependsOn(axes.batch)) {
    add(builder.steps(axes.batch), place.stride[axes.batch], compact[axes.batch]);
  }
  add(builder.steps(axes.channels), place.stride[axes.channels], compact[axes.channels]);
  for (size_t window = 0; window < 2; ++window) {
    size_t pixel = axes.pixel[window], element = axes.window[window];
    if (isApart(builder, window)) {
      add(builder.steps(pixel), place.stride[pixel], compact[pixel]);
      add(builder.steps(element), place.stride[element], compact[element]);
    } else {
      int64_t band = bandOf(window, builder.steps(pixel), builder.steps(element));
      add(band, inputBytes[window], compact[element] / steps[window].dilation);
    }
  }
  return result;
}

} // namespace spyre::backend
