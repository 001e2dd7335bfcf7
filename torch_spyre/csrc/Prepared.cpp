//===- Prepared.cpp - tables of geometries and of default tensors ---------------------------===//
#include "Prepared.h"

#include "spyre/Base/Math.h"

#include "SpyreTensorImpl.h"
#include "Types.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

namespace spyre::plugin {

namespace {

size_t mixHash(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

size_t hashOf(c10::IntArrayRef values, size_t seed) {
  for (int64_t value : values) {
    seed = mixHash(seed, size_t(value));
  }
  return seed;
}

struct GeometryHash {
  size_t operator()(const GeometryRef &geometry) const {
    return hashOf(geometry->stride, hashOf(geometry->size, geometry->layout.hash()));
  }
};

struct GeometryEqual {
  bool operator()(const GeometryRef &a, const GeometryRef &b) const { return *a == *b; }
};

struct Geometries {
  std::mutex mutex;
  std::unordered_set<GeometryRef, GeometryHash, GeometryEqual> known;
};

/// Looked up without making a key of its own.
struct ShapeView {
  c10::IntArrayRef size;
  c10::ScalarType type;
};

struct ShapeHash {
  using is_transparent = void;
  size_t operator()(const ShapeView &shape) const {
    return hashOf(shape.size, size_t(shape.type) + 1);
  }
  size_t operator()(const PreparedTensor *prepared) const {
    return (*this)(ShapeView{prepared->size, prepared->type});
  }
};

struct ShapeEqual {
  using is_transparent = void;
  static ShapeView of(const ShapeView &shape) { return shape; }
  static ShapeView of(const PreparedTensor *prepared) { return {prepared->size, prepared->type}; }
  template <typename A, typename B>
  bool operator()(const A &a, const B &b) const {
    return of(a).type == of(b).type && of(a).size == of(b).size;
  }
};

struct Defaults {
  std::shared_mutex mutex;
  std::unordered_set<const PreparedTensor *, ShapeHash, ShapeEqual> known;
};

} // namespace

GeometryRef internGeometry(StorageGeometry geometry) {
  static auto *geometries = new Geometries();
  auto made = std::make_shared<const StorageGeometry>(std::move(geometry));
  std::lock_guard<std::mutex> lock(geometries->mutex);
  return *geometries->known.insert(std::move(made)).first;
}

PreparedTensor prepareTensor(c10::IntArrayRef size, c10::IntArrayRef stride, c10::ScalarType type,
                             StorageGeometry geometry) {
  PreparedTensor prepared;
  prepared.size = toVector(size);
  prepared.stride = toVector(stride);
  prepared.type = type;
  prepared.bytes = storageBytes(geometry, type);
  prepared.geometry = internGeometry(std::move(geometry));
  return prepared;
}

const PreparedTensor &preparedDefault(c10::IntArrayRef size, c10::ScalarType type) {
  static auto *defaults = new Defaults();
  {
    std::shared_lock<std::shared_mutex> lock(defaults->mutex);
    if (auto found = defaults->known.find(ShapeView{size, type}); found != defaults->known.end()) {
      return **found;
    }
  }
  const std::vector<int64_t> stride = rowMajorStrides(toVector(size));
  const auto *made =
      new PreparedTensor(prepareTensor(size, stride, type, makeGeometry(size, stride, type)));
  std::unique_lock<std::shared_mutex> lock(defaults->mutex);
  auto [place, isNew] = defaults->known.insert(made);
  if (!isNew) {
    delete made;
  }
  return **place;
}

at::Tensor makePrepared(const PreparedTensor &prepared, c10::Device device) {
  auto tensor = at::detail::make_tensor<SpyreTensorImpl>(
      makeStorage(prepared.geometry, prepared.type, prepared.bytes, device),
      c10::scalarTypeToTypeMeta(prepared.type));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(prepared.size, prepared.stride);
  return tensor;
}

} // namespace spyre::plugin
