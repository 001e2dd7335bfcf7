//===- ViewTest.cpp - view algebra against brute-force indexing -----------------------------===//
#include "View.h"

#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

#include <functional>
#include <numeric>

using namespace spyre;
using views::Atom;
using views::Atoms;
using views::View;

namespace {

int64_t product(const std::vector<int64_t> &values) {
  return std::accumulate(values.begin(), values.end(), int64_t(1), std::multiplies<>());
}

/// Row-major flat offset in the buffer of the view's element at \p index.
int64_t bufferOffset(const View &view, const std::vector<int64_t> &bufferShape,
                     const std::vector<int64_t> &index) {
  std::vector<int64_t> position = view.offset;
  for (size_t d = 0; d < index.size(); ++d) {
    int64_t rest = index[d];
    for (size_t a = view.dims[d].size(); a-- > 0;) {
      const Atom &atom = view.dims[d][a];
      if (atom.dim != views::kBroadcast) {
        position[atom.dim] += rest % atom.extent * atom.stride;
      }
      rest /= atom.extent;
    }
  }
  int64_t offset = 0;
  for (size_t d = 0; d < bufferShape.size(); ++d) {
    offset = offset * bufferShape[d] + position[d];
  }
  return offset;
}

/// All buffer offsets of a view in row-major order of its own indices.
std::vector<int64_t> allOffsets(const View &view, const std::vector<int64_t> &bufferShape) {
  std::vector<int64_t> shape = view.shape(), index(shape.size(), 0), offsets;
  for (int64_t n = 0; n < product(shape); ++n) {
    int64_t rest = n;
    for (size_t d = shape.size(); d-- > 0;) {
      index[d] = rest % shape[d];
      rest /= shape[d];
    }
    offsets.push_back(bufferOffset(view, bufferShape, index));
  }
  return offsets;
}

/// A random way to write n as a product.
std::vector<int64_t> randomShape(int64_t n, Random &random) {
  std::vector<int64_t> shape;
  while (n > 1) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= n; ++d) {
      if (n % d == 0) {
        divisors.push_back(d);
      }
    }
    shape.push_back(divisors[random.below(divisors.size())]);
    n /= shape.back();
  }
  return shape;
}

} // namespace

TEST(View, FlattenKeepsTheExampleOfTheDocuments) {
  View x = View::whole(0, {50, 10, 200});
  std::optional<View> flat = views::reshape(x, {500, 200});
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->dims[0], (Atoms{{0, 50, 1}, {1, 10, 1}}));
  EXPECT_EQ(flat->dims[1], (Atoms{{2, 200, 1}}));
  // Against y [500, 200] the first loop splits into 50 x 10.
  View y = View::whole(1, {500, 200});
  EXPECT_EQ(views::commonSegments(500, {&flat->dims[0], &y.dims[0]}),
            (std::vector<int64_t>{50, 10}));
  std::vector<views::Step> steps = views::stepsOf(y.dims[0], {50, 10});
  EXPECT_EQ(steps[0].coefficient, 10);
  EXPECT_EQ(steps[1].coefficient, 1);
}

TEST(View, SplittingAndJoiningGivesTheWholeBack) {
  View x = View::whole(0, {2, 256, 4096});
  View heads = *views::reshape(x, {2, 256, 32, 128});
  EXPECT_EQ(heads.dims[2], (Atoms{{2, 32, 128}}));
  EXPECT_EQ(views::reshape(heads, {2, 256, 4096})->dims, x.dims);
}

TEST(View, ACutThatDoesNotDivideIsRefused) {
  View x = View::whole(0, {4, 6});
  EXPECT_TRUE(views::reshape(x, {8, 3}));
  EXPECT_FALSE(views::reshape(views::permute(x, {1, 0}), {8, 3}));
  EXPECT_FALSE(views::reshape(View::whole(0, {10, 3}), {6, 5}));
}

TEST(View, CutsThatDoNotNestHaveNoSegments) {
  Atoms a = {{0, 4, 1}, {1, 6, 1}}, b = {{0, 6, 1}, {1, 4, 1}};
  EXPECT_FALSE(views::commonSegments(24, {&a, &b}));
}

TEST(View, RandomReshapesAndPermutesReadTheRightElements) {
  int64_t reshaped = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    int64_t elements = int64_t(1) << random.between(0, 4);
    elements *= random.between(1, 12);
    std::vector<int64_t> base = randomShape(elements, random);
    View view = View::whole(0, base);
    std::vector<int64_t> expected = allOffsets(view, base);
    for (int step = 0; step < 4; ++step) {
      std::vector<int64_t> shape = view.shape();
      if (random.below(2)) {
        std::vector<int64_t> order(shape.size());
        std::iota(order.begin(), order.end(), 0);
        for (size_t i = order.size(); i > 1; --i) {
          std::swap(order[i - 1], order[random.below(i)]);
        }
        View next = views::permute(view, order);
        std::vector<int64_t> moved(expected.size());
        std::vector<int64_t> out = next.shape();
        for (int64_t n = 0; n < int64_t(expected.size()); ++n) {
          int64_t rest = n;
          std::vector<int64_t> index(shape.size());
          for (size_t d = out.size(); d-- > 0;) {
            index[order[d]] = rest % out[d];
            rest /= out[d];
          }
          int64_t from = 0;
          for (size_t d = 0; d < shape.size(); ++d) {
            from = from * shape[d] + index[d];
          }
          moved[n] = expected[from];
        }
        view = next;
        expected = moved;
      } else if (auto next = views::reshape(view, randomShape(elements, random))) {
        view = *next;
        ++reshaped;
      }
      ASSERT_EQ(allOffsets(view, base), expected) << "seed " << seed;
    }
  }
  EXPECT_GT(reshaped, 1000);
}

TEST(View, BroadcastRepeatsAndSegmentsCoverIt) {
  View x = View::whole(0, {3, 1});
  View wide = views::broadcast(x, {2, 3, 4});
  EXPECT_EQ(allOffsets(wide, {3, 1}), (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2,
                                                            0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(views::stepsOf(wide.dims[2], {4})[0].dim, views::kBroadcast);
}

TEST(View, RandomSlicesReadTheRightElements) {
  int64_t sliced = 0, refused = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    int64_t elements = (int64_t(1) << random.between(0, 4)) * random.between(1, 12);
    std::vector<int64_t> base = randomShape(elements, random);
    View view = View::whole(0, base);
    for (int step = 0; step < 4; ++step) {
      std::vector<int64_t> shape = view.shape(), before = allOffsets(view, base);
      if (shape.empty() || random.below(3) == 0) {
        if (auto next = views::reshape(view, randomShape(product(shape), random))) {
          view = *next;
        }
        ASSERT_EQ(allOffsets(view, base), before) << "seed " << seed;
        continue;
      }
      size_t dim = random.below(shape.size());
      int64_t start = random.between(0, shape[dim] - 1), every = random.between(1, 4);
      int64_t extent = random.between(1, (shape[dim] - 1 - start) / every + 1);
      auto next = views::slice(view, int64_t(dim), start, extent, every);
      if (!next) {
        ++refused;
        EXPECT_GT(view.dims[dim].size(), 1u) << "one piece can always be sliced";
        continue;
      }
      ++sliced;
      view = *next;
      std::vector<int64_t> expected;
      int64_t inner = 1;
      for (size_t d = dim + 1; d < shape.size(); ++d) {
        inner *= shape[d];
      }
      for (int64_t n = 0; n < product(view.shape()); ++n) {
        int64_t at = n / inner % extent;
        expected.push_back(before[size_t(
            (n / (inner * extent) * shape[dim] + start + at * every) * inner + n % inner)]);
      }
      ASSERT_EQ(allOffsets(view, base), expected) << "seed " << seed;
    }
  }
  EXPECT_GT(sliced, 3000);
  EXPECT_GT(refused, 50);
}

TEST(View, WindowsThatDoNotOverlapAreOneWalk) {
  View x = View::whole(0, {2, 10});
  auto windows = views::unfold(x, 1, 3, 4); // 0 1 2, 4 5 6
  ASSERT_TRUE(windows);
  EXPECT_EQ(windows->shape(), (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(allOffsets(*windows, {2, 10}),
            (std::vector<int64_t>{0, 1, 2, 4, 5, 6, 10, 11, 12, 14, 15, 16}));
  EXPECT_FALSE(views::unfold(x, 1, 3, 2));
  EXPECT_TRUE(views::unfold(x, 1, 10, 2)) << "a single window overlaps nothing";
}

TEST(View, StepsOfACutNestOnlyWhenTheyDivideIt) {
  const View rows = *views::reshape(View::whole(0, {128}), {8, 16});
  EXPECT_TRUE(views::nests(rows));
  EXPECT_TRUE(views::nests(*views::slice(rows, 1, 0, 4, 4)));
  EXPECT_FALSE(views::nests(*views::slice(rows, 1, 0, 4, 5)));
  EXPECT_TRUE(views::nests(*views::slice(rows, 1, 3, 1, 1))) << "one place has no step";
}
