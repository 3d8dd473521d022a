#include "graph/test_ops.h"

#include <algorithm>

#include "base/check.h"
#include "ops/table/families.h"

namespace lanner::test {

namespace {

Dim broadcast_dim(const Dim& a, const Dim& b) {
  if (a == b || b == Dim(1)) return a;
  check(a == Dim(1), ErrorCode::invalid_argument, "plus: {} does not meet {}", a.to_string(), b.to_string());
  return b;
}

OpDef plus() {
  OpDef op;
  op.name = "plus";
  op.min_inputs = op.max_inputs = 2;
  op.elementwise = true;
  op.infer = [](InferContext& context) {
    const Type &a = context.input(0), &b = context.input(1);
    check(a.dtype() == b.dtype(), ErrorCode::invalid_argument, "plus: {} and {}", to_string(a.dtype()),
          to_string(b.dtype()));
    Dims dims;
    const std::size_t rank = std::max(a.rank(), b.rank());
    for (std::size_t i = 0; i < rank; ++i) {
      const Dim left = i + a.rank() < rank ? Dim(1) : a.dims()[i + a.rank() - rank];
      const Dim right = i + b.rank() < rank ? Dim(1) : b.dims()[i + b.rank() - rank];
      dims.push_back(broadcast_dim(left, right));
    }
    context.set_output(0, Type(a.dtype(), dims));
    const auto &x = context.known(0).elements, &y = context.known(1).elements;
    if (!x || !y || x->size() != y->size()) return;
    Dims sums;
    for (std::size_t i = 0; i < x->size(); ++i) sums.push_back((*x)[i] + (*y)[i]);
    context.set_known(0, {std::nullopt, sums});
  };
  op.reference = [](KernelContext& context) {
    const Tensor &a = context.input(0), &b = context.input(1);
    Tensor& out = context.output(0);
    const std::size_t count = static_cast<std::size_t>(out.elements());
    if (a.dtype() == DType::i64) {
      for (std::size_t i = 0; i < count; ++i)
        out.as<std::int64_t>()[i] =
            a.as<std::int64_t>()[i % a.elements()] + b.as<std::int64_t>()[i % b.elements()];
      return;
    }
    for (std::size_t i = 0; i < count; ++i)
      out.as<float>()[i] = a.as<float>()[i % a.elements()] + b.as<float>()[i % b.elements()];
  };
  return op;
}

OpDef positive() {
  OpDef op;
  op.name = "positive";
  op.min_inputs = op.max_inputs = 1;
  op.elementwise = true;
  op.infer = [](InferContext& context) { context.set_output(0, context.input(0)); };
  op.reference = [](KernelContext& context) {
    const auto in = context.input(0).as<float>();
    std::transform(in.begin(), in.end(), context.output(0).as<float>().begin(),
                   [](float x) { return std::max(x, 0.f); });
  };
  return op;
}

OpDef sizes() {
  OpDef op;
  op.name = "sizes";
  op.min_inputs = op.max_inputs = 1;
  op.infer = [](InferContext& context) {
    const Type& in = context.input(0);
    context.set_output(0, Type(DType::i64, Dims{Dim(static_cast<std::int64_t>(in.rank()))}));
    context.set_known(0, {std::nullopt, in.dims()});
  };
  op.reference = [](KernelContext& context) {
    const Shape& shape = context.input(0).shape();
    std::copy(shape.begin(), shape.end(), context.output(0).as<std::int64_t>().begin());
  };
  return op;
}

OpDef fill() {
  OpDef op;
  op.name = "fill";
  op.min_inputs = op.max_inputs = 1;
  op.attributes = {{"value", AttributeKind::real, false, Attribute(0.0)}};
  op.infer = [](InferContext& context) {
    const auto& dims = context.known(0).elements;
    context.set_output(0, dims ? Type(DType::f32, *dims) : Type::unranked(DType::f32));
  };
  op.reference = [](KernelContext& context) {
    const auto dims = context.input(0).as<std::int64_t>();
    Tensor& out = context.allocate(0, DType::f32, Shape(std::vector(dims.begin(), dims.end())));
    std::ranges::fill(out.as<float>(), static_cast<float>(context.attributes().real("value", 0)));
  };
  return op;
}

OpDef nonzero() {
  OpDef op;
  op.name = "nonzero";
  op.min_inputs = op.max_inputs = 1;
  op.infer = [](InferContext& context) {
    context.set_output(0, Type(DType::i64, {context.fresh("found", product(context.input(0).dims()))}));
  };
  op.reference = [](KernelContext& context) {
    std::vector<std::int64_t> places;
    const auto in = context.input(0).as<float>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i] != 0) places.push_back(static_cast<std::int64_t>(i));
    }
    Tensor& out = context.allocate(0, DType::i64, Shape{static_cast<std::int64_t>(places.size())});
    std::ranges::copy(places, out.as<std::int64_t>().begin());
  };
  return op;
}

OpDef choose() {
  OpDef op;
  op.name = "choose";
  op.min_inputs = op.max_inputs = 1;
  op.max_outputs = OpDef::any;
  op.regions = 2;
  op.infer = [](InferContext& context) {
    const std::vector<Type> yes = context.infer_region(0, {}), no = context.infer_region(1, {});
    for (std::size_t i = 0; i < context.outputs(); ++i)
      context.set_output(i, yes[i] == no[i] ? yes[i] : Type::unranked(yes[i].dtype()));
  };
  op.reference = [](KernelContext& context) {
    const std::vector<Item> results = context.run_region(context.input(0).as<bool>()[0] ? 0 : 1, {});
    for (std::size_t i = 0; i < context.outputs(); ++i) context.set_item(i, results[i]);
  };
  return op;
}

OpDef repeat() {
  OpDef op;
  op.name = "repeat";
  op.min_inputs = 1;
  op.max_inputs = OpDef::any;
  op.max_outputs = OpDef::any;
  op.regions = 1;
  op.infer = [](InferContext& context) {
    std::vector<Type> carried;
    for (std::size_t i = 1; i < context.inputs(); ++i) carried.push_back(context.input(i));
    const std::vector<Type> after = context.infer_region(0, carried);
    bool same = true;
    for (std::size_t i = 0; i < carried.size(); ++i) {
      if (carried[i] == after[i]) continue;
      same = false;
      carried[i] = Type(after[i].dtype(), {context.fresh("grown", Dim(1000))});
    }
    if (!same) context.infer_region(0, carried);
    for (std::size_t i = 0; i < context.outputs(); ++i) context.set_output(i, carried[i]);
  };
  op.reference = [](KernelContext& context) {
    std::vector<Item> carried;
    for (std::size_t i = 1; i < context.inputs(); ++i) carried.push_back(context.item(i));
    for (std::int64_t i = 0; i < context.input(0).as<std::int64_t>()[0]; ++i)
      carried = context.run_region(0, carried);
    for (std::size_t i = 0; i < context.outputs(); ++i) context.set_item(i, carried[i]);
  };
  return op;
}

OpDef join() {
  OpDef op;
  op.name = "join";
  op.min_inputs = op.max_inputs = 2;
  op.infer = [](InferContext& context) {
    context.set_output(
        0, Type(context.input(0).dtype(), {context.input(0).dims()[0] + context.input(1).dims()[0]}));
  };
  op.reference = [](KernelContext& context) {
    const auto a = context.input(0).as<float>(), b = context.input(1).as<float>();
    std::ranges::copy(b, std::ranges::copy(a, context.output(0).as<float>().begin()).out);
  };
  return op;
}

OpDef doubled() {
  OpDef op;
  op.name = "doubled";
  op.min_inputs = op.max_inputs = 1;
  op.infer = [](InferContext& context) { context.set_output(0, context.input(0)); };
  op.expand = [](ExpandContext& context) {
    Value* in = context.node.input(0);
    context.results = {
        context.graph.emit("plus", std::vector<Value*>{in, in}, {}, in->type, "twice", &context.node)};
  };
  return op;
}

OpDef settings() {
  OpDef op;
  op.name = "settings";
  op.min_inputs = 0;
  op.max_inputs = 3;
  op.attributes = {
      {"integer", AttributeKind::integer, false, {}}, {"real", AttributeKind::real, false, {}},
      {"text", AttributeKind::string, false, {}},     {"integers", AttributeKind::integers, false, {}},
      {"reals", AttributeKind::reals, false, {}},     {"texts", AttributeKind::strings, false, {}},
      {"element", AttributeKind::dtype, false, {}},   {"kind", AttributeKind::type, false, {}},
      {"tensor", AttributeKind::tensor, false, {}}};
  op.max_outputs = 2;
  op.min_outputs = 0;
  op.infer = [](InferContext& context) {
    for (std::size_t i = 0; i < context.outputs(); ++i) context.set_output(i, Type(DType::f32, Dims{}));
  };
  return op;
}

} // namespace

const OpTable& graph_test_ops() {
  static const OpTable table = [] {
    OpTable made;
    made.add(ops::constant_ops());
    made.add(ops::fused_ops());
    made.add(ops::reorder_ops());
    made.add(
        {plus(), positive(), sizes(), fill(), nonzero(), choose(), repeat(), join(), doubled(), settings()});
    return made;
  }();
  return table;
}

} // namespace lanner::test
