//===- Views.cpp - sizes and strides taken apart --------------------------------------------===//
#include "Views.h"

#include "spyre/Base/Math.h"

#include "Types.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace spyre::plugin {

namespace {

using Attributes = std::vector<std::pair<std::string, capi::Attribute>>;
using Sizes = std::vector<int64_t>;

int64_t product(const Sizes &sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

/// Numbers of the dimensions by falling stride; equal strides (one element) keep their order.
Sizes byStride(c10::IntArrayRef stride, const Sizes &dims) {
  Sizes order = dims;
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return stride[size_t(a)] > stride[size_t(b)]; });
  return order;
}

/// The dimensions of a view that move through memory.
Sizes movingDims(const at::Tensor &view) {
  Sizes dims;
  for (int64_t d = 0; d < view.dim(); ++d) {
    if (view.size(d) != 1 && view.stride(d) != 0) {
      dims.push_back(d);
    }
  }
  return dims;
}

/// Takes dimensions of storage and view from the innermost on; each step joins as few dimensions of
/// the storage as hold whole dimensions of the view.
class Matcher {
public:
  Matcher(const StorageGeometry &storage, const at::Tensor &view, const Sizes &order,
          const Sizes &moving)
      : storage(storage), view(view), order(order), moving(moving) {}

  /// Parts from the innermost to the outermost.
  std::optional<std::vector<ViewPlan::Part>> run() {
    std::vector<ViewPlan::Part> parts;
    int64_t unit = 1, rest = 1;
    size_t dim = order.size(), next = moving.size();
    while (dim > 0 || rest > 1) {
      int64_t extent = std::exchange(rest, 1);
      std::optional<ViewPlan::Part> part;
      if (extent > 1) {
        part = partOf(unit, extent, next);
      }
      while (!part && dim > 0) {
        extent *= storage.size[size_t(order[--dim])];
        part = partOf(unit, extent, next);
      }
      if (!part) {
        return std::nullopt;
      }
      unit *= part->extent;
      rest = extent / part->extent;
      parts.push_back(*part);
    }
    return next == 0 ? std::optional(parts) : std::nullopt;
  }

private:
  /// The part of \p extent elements, \p unit apart, that the next view dimensions take; they are
  /// taken from \p next if they fit. A dimension that leaves gaps ends the part at its stride.
  std::optional<ViewPlan::Part> partOf(int64_t unit, int64_t extent, size_t &next) const {
    ViewPlan::Part part;
    part.extent = extent;
    size_t taken = next;
    int64_t expected = 0;
    while (taken > 0 && view.stride(moving[taken - 1]) < unit * extent) {
      const int64_t stride = view.stride(moving[taken - 1]);
      if (stride % unit != 0) {
        return std::nullopt;
      }
      if (expected != 0 && stride != expected) {
        if (extent % (stride / unit) != 0) {
          return std::nullopt;
        }
        part.extent = stride / unit;
        break;
      }
      part.step = expected == 0 ? stride / unit : part.step;
      part.count *= view.size(moving[taken - 1]);
      expected = stride * view.size(moving[taken - 1]);
      --taken;
    }
    part.start = view.storage_offset() / unit % part.extent;
    if (part.start + (part.count - 1) * part.step >= part.extent) {
      return std::nullopt;
    }
    next = taken;
    return part;
  }

  const StorageGeometry &storage;
  const at::Tensor &view;
  const Sizes &order, &moving;
};

/// Writes calls and keeps track of the sizes; calls that change nothing are left out.
class Writer {
public:
  Writer(capi::GraphBuilder &builder, numerics::HostType dtype, capi::ValueId value, Sizes size)
      : value(value), size(std::move(size)), builder(builder), dtype(dtype) {}

  void permute(const Sizes &order) {
    if (std::is_sorted(order.begin(), order.end())) {
      return;
    }
    Sizes result;
    for (int64_t dim : order) {
      result.push_back(size[size_t(dim)]);
    }
    call("aten.permute.default", {{"dims", order}}, result);
  }
  void reshape(const Sizes &result) {
    if (result != size) {
      call("aten.view.default", {{"size", result}}, result);
    }
  }
  void expand(const Sizes &result) {
    if (result != size) {
      call("aten.expand.default", {{"size", result}}, result);
    }
  }
  void slice(size_t dim, const ViewPlan::Part &part) {
    if (part.count == part.extent) {
      return;
    }
    Sizes result = size;
    result[dim] = part.count;
    call("aten.slice.Tensor", sliceAttributes(dim, part), result);
  }
  void scatterInto(capi::ValueId target, const Sizes &targetSize, size_t dim,
                   const ViewPlan::Part &part) {
    if (part.count == part.extent) {
      return;
    }
    size = targetSize;
    value = builder.addCall("aten.slice_scatter.default", {target, value},
                            sliceAttributes(dim, part), type(), "");
  }
  void walk(const ViewPlan &plan) {
    call("aten.as_strided.default",
         {{"size", plan.size}, {"stride", plan.stride}, {"storage_offset", plan.offset}},
         plan.size);
  }

  capi::ValueId value;
  Sizes size;

private:
  static Attributes sliceAttributes(size_t dim, const ViewPlan::Part &part) {
    Attributes attributes = {{"dim", int64_t(dim)},
                             {"start", part.start},
                             {"end", part.start + (part.count - 1) * part.step + 1}};
    if (part.step != 1) {
      attributes.emplace_back("step", part.step);
    }
    return attributes;
  }
  capi::TensorType type() const { return {dtype, size, rowMajorStrides(size)}; }
  void call(const char *target, const Attributes &attributes, const Sizes &result) {
    size = result;
    value = builder.addCall(target, {value}, attributes, type(), "");
  }

  capi::GraphBuilder &builder;
  numerics::HostType dtype;
};

Sizes inverse(const Sizes &permutation) {
  Sizes result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    result[size_t(permutation[i])] = int64_t(i);
  }
  return result;
}

Sizes extents(const ViewPlan &plan) {
  Sizes sizes;
  for (const ViewPlan::Part &part : plan.parts) {
    sizes.push_back(part.extent);
  }
  return sizes;
}

/// Sizes of the view's dimensions, in order, without repeated ones and those of one element.
Sizes movingSizes(const ViewPlan &plan) {
  Sizes sizes;
  for (int64_t place : plan.permutation) {
    sizes.push_back(plan.split[size_t(place)]);
  }
  return sizes;
}

} // namespace

ViewPlan planView(const StorageGeometry &storage, const at::Tensor &view) {
  ViewPlan plan;
  plan.size = toVector(view.sizes());
  plan.stride = toVector(view.strides());
  plan.offset = view.storage_offset();
  Sizes dims(storage.size.size());
  std::iota(dims.begin(), dims.end(), int64_t(0));
  plan.order = byStride(storage.stride, dims);
  const Sizes inOrder = movingDims(view);
  const Sizes moving = byStride(view.strides(), inOrder);
  auto parts = Matcher(storage, view, plan.order, moving).run();
  if (!parts) {
    plan.isWalk = true;
    return plan;
  }
  plan.parts.assign(parts->rbegin(), parts->rend());
  plan.plain = plan.size;
  for (int64_t d = 0; d < view.dim(); ++d) {
    plan.plain[size_t(d)] = view.stride(d) == 0 ? 1 : plan.plain[size_t(d)];
  }
  for (int64_t dim : moving) {
    plan.split.push_back(view.size(dim));
  }
  for (int64_t dim : inOrder) {
    plan.permutation.push_back(std::find(moving.begin(), moving.end(), dim) - moving.begin());
  }
  return plan;
}

capi::ValueId readView(capi::GraphBuilder &builder, capi::ValueId storage,
                       const StorageGeometry &geometry, numerics::HostType dtype,
                       const ViewPlan &plan) {
  Writer writer(builder, dtype, storage, geometry.size);
  if (plan.isWalk) {
    // Offsets count in memory order.
    writer.permute(plan.order);
    writer.walk(plan);
    return writer.value;
  }
  writer.permute(plan.order);
  writer.reshape(extents(plan));
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    writer.slice(i, plan.parts[i]);
  }
  writer.reshape(plan.split);
  writer.permute(plan.permutation);
  writer.reshape(plan.plain);
  writer.expand(plan.size);
  return writer.value;
}

bool canWrite(const ViewPlan &plan) {
  return !plan.isWalk && plan.plain == plan.size &&
         std::all_of(plan.parts.begin(), plan.parts.end(),
                     [](const ViewPlan::Part &part) { return part.step == 1; });
}

capi::ValueId writeView(capi::GraphBuilder &builder, capi::ValueId storage,
                        const StorageGeometry &geometry, numerics::HostType dtype,
                        const ViewPlan &plan, capi::ValueId contents) {
  // The storage, cut one dimension after the other, and the contents put into each of these.
  Writer cut(builder, dtype, storage, geometry.size);
  cut.permute(plan.order);
  const Sizes ordered = cut.size;
  cut.reshape(extents(plan));
  std::vector<std::pair<capi::ValueId, Sizes>> targets;
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    targets.emplace_back(cut.value, cut.size);
    if (product(cut.size) != product(plan.size)) {
      cut.slice(i, plan.parts[i]);
    }
  }
  Writer writer(builder, dtype, contents, plan.size);
  writer.reshape(movingSizes(plan));
  writer.permute(inverse(plan.permutation));
  Sizes counts;
  for (const ViewPlan::Part &part : plan.parts) {
    counts.push_back(part.count);
  }
  writer.reshape(counts);
  for (size_t i = plan.parts.size(); i-- > 0;) {
    writer.scatterInto(targets[i].first, targets[i].second, i, plan.parts[i]);
  }
  writer.reshape(ordered);
  writer.permute(inverse(plan.order));
  return writer.value;
}

} // namespace spyre::plugin
