//===- LayoutCostTest.cpp - what the documents' expressions cost in restickified elements ---===//
//
// [spec: front-end 5.8] gives expressions on square matrices and how many elements the documented
// search restickifies, counted by the device sizes of what is restickified. Ours may be cheaper,
// never dearer.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/CAPI/Compiler.h"
#include "spyre/Spec/OpSpec.h"

#include "gtest/gtest.h"

#include <functional>
#include <map>

namespace spyre::testing {
namespace {

using capi::ValueId;

/// Tensors of one shape in default layout, and the operations of the table.
class Expression {
public:
  explicit Expression(std::vector<int64_t> shape) : shape(std::move(shape)) {}

  ValueId input(const std::string &name) {
    return keep(
        builder.addInput(name, type(shape), 0, *layout::DeviceLayout::makeDefault(shape, kType)),
        shape);
  }
  ValueId call(const std::string &name, const std::vector<ValueId> &operands,
               const std::vector<int64_t> &result,
               const std::vector<std::pair<std::string, capi::Attribute>> &attributes = {}) {
    return keep(builder.addCall(name, operands, attributes, type(result), ""), result);
  }
  ValueId add(ValueId a, ValueId b) { return call("aten.add.Tensor", {a, b}, shapes[a]); }
  ValueId mm(ValueId a, ValueId b) { return call("aten.mm.default", {a, b}, shapes[a]); }
  ValueId t(ValueId a) { return transpose(a, 0, 1); }
  ValueId transpose(ValueId a, int64_t dim0, int64_t dim1) {
    std::vector<int64_t> result = shapes[a];
    std::swap(result[size_t(dim0)], result[size_t(dim1)]);
    return call("aten.transpose.int", {a}, result, {{"dim0", dim0}, {"dim1", dim1}});
  }
  ValueId full() { return call("aten.full.default", {}, shape, {{"fill_value", 1.0}}); }

  /// Elements that are restickified to compute \p value, or -1 when it does not compile.
  int64_t cost(ValueId value) {
    builder.addOutput(value, type(shapes[value]));
    capi::CompileOptions options;
    options.device = *arch::DeviceDesc::preset("openspyre");
    options.compileTo = "opspec";
    Expected<capi::CompileResult> compiled = capi::compileGraph(*builder.text(), options);
    EXPECT_TRUE(compiled.ok()) << compiled.status().message();
    int64_t elements = compiled.ok() ? 0 : -1;
    for (const auto &[name, text] : compiled.ok() ? compiled->artifacts : Artifacts{}) {
      if (name.ends_with("op_spec.txt")) {
        elements += restickified(text);
      }
    }
    return elements;
  }

private:
  static constexpr numerics::HostType kType = numerics::HostType::Float16;

  static capi::TensorType type(const std::vector<int64_t> &size) {
    capi::TensorType result{kType, size, size};
    int64_t stride = 1;
    for (size_t d = size.size(); d-- > 0; stride *= size[d]) {
      result.stride[d] = stride;
    }
    return result;
  }

  ValueId keep(ValueId value, const std::vector<int64_t> &size) {
    shapes[value] = size;
    return value;
  }

  static int64_t restickified(const std::string &text) {
    int64_t sum = 0;
    const std::vector<spec::OpSpec> specs = *spec::parseOpSpecs(text);
    for (const spec::OpSpec &op : specs) {
      int64_t elements = op.op == "ReStickifyOpHBM" ? 1 : 0;
      for (int64_t size : op.args[0].deviceSize) {
        elements *= size;
      }
      sum += elements;
    }
    return sum;
  }

  std::vector<int64_t> shape;
  capi::GraphBuilder builder;
  std::map<ValueId, std::vector<int64_t>> shapes;
};

struct Case {
  const char *text;
  int64_t documented; ///< in tensors
  std::function<ValueId(Expression &)> build;
};

constexpr int64_t kSize = 128, kElements = kSize * kSize;

} // namespace

TEST(LayoutCost, IsAtMostTheDocumentedOne) {
  using E = Expression;
  const std::vector<Case> cases = {
      {"a.t() + x", 1, [](E &e) { return e.add(e.t(e.input("a")), e.input("x")); }},
      {"a.t() + b.t() + x", 1,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), x = e.input("x");
         return e.add(e.add(e.t(a), e.t(b)), x);
       }},
      {"a.t() + b.t() + x + y", 1,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), x = e.input("x"), y = e.input("y");
         return e.add(e.add(e.add(e.t(a), e.t(b)), x), y);
       }},
      {"a.t() + x + b.t() + y", 2,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), x = e.input("x"), y = e.input("y");
         return e.add(e.add(e.add(e.t(a), x), e.t(b)), y);
       }},
      {"x @ y", 0, [](E &e) { return e.mm(e.input("x"), e.input("y")); }},
      {"x.t() @ y", 1, [](E &e) { return e.mm(e.t(e.input("x")), e.input("y")); }},
      {"x @ y.t()", 1,
       [](E &e) {
         auto x = e.input("x"), y = e.input("y");
         return e.mm(x, e.t(y));
       }},
      {"x.t() @ y.t()", 2,
       [](E &e) {
         auto x = e.input("x"), y = e.input("y");
         return e.mm(e.t(x), e.t(y));
       }},
      {"a @ (b + c.t())", 1,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), c = e.input("c");
         return e.mm(a, e.add(b, e.t(c)));
       }},
      {"(a + b.t() + c.t() + d.t()) @ e", 2,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), c = e.input("c"), d = e.input("d");
         auto f = e.input("e");
         return e.mm(e.add(e.add(e.add(a, e.t(b)), e.t(c)), e.t(d)), f);
       }},
      {"a.t() @ (b + c.t())", 2,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), c = e.input("c");
         return e.mm(e.t(a), e.add(b, e.t(c)));
       }},
      {"(a @ b) + c.t() + d.t()", 1,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), c = e.input("c"), d = e.input("d");
         return e.add(e.add(e.mm(a, b), e.t(c)), e.t(d));
       }},
      {"(a @ b) @ c", 0,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), c = e.input("c");
         return e.mm(e.mm(a, b), c);
       }},
      {"buf = a + b.t(); buf + buf", 1,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b");
         auto buf = e.add(a, e.t(b));
         return e.add(buf, buf);
       }},
      {"buf = a + b.t(); buf + c + (buf + d.t())", 2,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), c = e.input("c"), d = e.input("d");
         auto buf = e.add(a, e.t(b));
         return e.add(e.add(buf, c), e.add(buf, e.t(d)));
       }},
      {"(a.t() + b).t() + c", 1,
       [](E &e) {
         auto a = e.input("a"), b = e.input("b"), c = e.input("c");
         return e.add(e.t(e.add(e.t(a), b)), c);
       }},
      {"full + x.t()", 0, [](E &e) { return e.add(e.full(), e.t(e.input("x"))); }},
      {"full @ y", 0, [](E &e) { return e.mm(e.full(), e.input("y")); }},
      {"a + a.t()", 1,
       [](E &e) {
         auto a = e.input("a");
         return e.add(a, e.t(a));
       }},
  };
  for (const Case &c : cases) {
    Expression expression({kSize, kSize});
    const ValueId value = c.build(expression);
    const int64_t cost = expression.cost(value);
    EXPECT_GE(cost, 0) << c.text;
    EXPECT_LE(cost, c.documented * kElements) << c.text;
  }
}

TEST(LayoutCost, OfFourDimensions) {
  const std::vector<int64_t> shape{64, 64, 64, 64};
  constexpr int64_t kAll = 64 * 64 * 64 * 64;
  for (bool different : {false, true}) {
    Expression e(shape);
    auto a = e.input("a"), b = e.input("b"), c = e.input("c"), d = e.input("d");
    auto x = e.transpose(a, 0, 3), y = e.transpose(b, different ? 1 : 0, 3),
         z = e.transpose(c, different ? 2 : 0, 3);
    const int64_t cost = e.cost(e.add(e.add(e.add(x, y), z), d));
    EXPECT_LE(cost, (different ? 3 : 1) * kAll);
    EXPECT_GT(cost, 0);
  }
}

// The documents have no way from one element per stick to a stick; ours is a restickify.
TEST(LayoutCost, AReducedRowMeetsAMatrix) {
  Expression e({kSize, kSize});
  auto a = e.input("a"), b = e.input("b");
  auto sum = e.call("aten.sum.dim_IntList", {a}, {kSize},
                    {{"dim", std::vector<int64_t>{1}}, {"keepdim", false}});
  auto value = e.call("aten.add.Tensor", {b, sum}, {kSize, kSize});
  EXPECT_LE(e.cost(value), 2 * kElements);
}

} // namespace spyre::testing
