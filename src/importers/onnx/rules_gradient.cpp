// Gradient (domain ai.onnx.preview.training): copies the graph between the named values, on the node's
// inputs, then differentiates it (reverse-mode automatic differentiation).

#include <algorithm>
#include <set>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/op.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// The nodes that compute `y` from `from`, with the names in `from` as inputs.
ImportGraph graph_between(const std::vector<ImportNode>& nodes, const std::vector<std::string>& from,
                          const std::string& y) {
  std::map<std::string_view, const ImportNode*> writers;
  for (const ImportNode& node : nodes)
    for (const std::string& output : node.outputs) writers.emplace(output, &node);
  std::set<const ImportNode*> taken;
  std::vector<std::string_view> open = {y};
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    const auto writer = writers.find(name);
    if (std::ranges::find(from, name) != from.end() || writer == writers.end() ||
        !taken.insert(writer->second).second)
      continue;
    open.insert(open.end(), writer->second->inputs.begin(), writer->second->inputs.end());
  }
  ImportGraph graph;
  graph.name = "gradient";
  for (const std::string& name : from) graph.inputs.push_back({name, {}});
  for (const ImportNode& node : nodes)
    if (taken.contains(&node)) graph.nodes.push_back(node);
  graph.outputs.push_back({y, {}});
  return graph;
}

/// Gradients of one value with respect to the values it is computed from.
class Backward {
public:
  explicit Backward(RuleContext& context) : context_(context) {}

  void run(Value* y) {
    AttributeMap ones;
    Tensor one = Tensor::allocate(y->type.dtype(), {1});
    copy_tensor(Tensor::from<float>(std::span<const float>({1.0F}), {1}), one);
    ones.set("value", std::move(one));
    gradients_[y] = emit("constant_of_shape", {emit("shape", {y})}, std::move(ones));
    order(y->producer());
    for (auto node = order_.rbegin(); node != order_.rend(); ++node)
      if (Value* gradient = gradients_[(*node)->output()]) through(**node, gradient);
  }
  /// Zeros where nothing depends on `x`.
  Value* of(Value* x) {
    Value* gradient = gradients_[x];
    return gradient ? gradient : emit("mul", {x, constant(x, 0)});
  }

private:
  void order(Node* node) {
    if (!node || !seen_.insert(node).second) return;
    check(seen_.size() < 10000, ErrorCode::limit_exceeded, "the gradient goes through more than 10000 nodes");
    for (Value* input : node->inputs())
      if (input) order(input->producer());
    order_.push_back(node);
  }

  void through(const Node& node, Value* g) {
    const std::string& op = node.kind();
    Value *y = node.output(), *a = node.input(0), *b = node.input(1);
    if (op == "add") return add(a, g), add(b, g);
    if (op == "sub") return add(a, g), add(b, emit("neg", {g}));
    if (op == "mul") return add(a, emit("mul", {g, b})), add(b, emit("mul", {g, a}));
    if (op == "div")
      return add(a, emit("div", {g, b})), add(b, emit("neg", {emit("div", {emit("mul", {g, y}), b})}));
    if (op == "matmul") return product(a, b, g);
    if (op == "identity") return add(a, g);
    if (op == "neg") return add(a, emit("neg", {g}));
    if (op == "exp") return add(a, emit("mul", {g, y}));
    if (op == "log") return add(a, emit("div", {g, a}));
    if (op == "sqrt") return add(a, emit("div", {g, emit("add", {y, y})}));
    if (op == "tanh") return add(a, emit("mul", {g, emit("sub", {constant(y, 1), emit("mul", {y, y})})}));
    if (op == "sigmoid") return add(a, emit("mul", {g, emit("mul", {y, emit("sub", {constant(y, 1), y})})}));
    if (op == "relu") return add(a, emit("where", {emit("greater", {a, constant(a, 0)}), g, constant(a, 0)}));
    if (op == "constant") return;
    fail(ErrorCode::unsupported, "the derivative of {} is not supported", op);
  }

  void product(Value* a, Value* b, Value* g) {
    check(a->type.ranked() && b->type.ranked() && a->type.rank() == 2 && b->type.rank() == 2,
          ErrorCode::unsupported, "the derivative of matmul is supported for matrices only");
    add(a, emit("matmul", {g, emit("transpose", {b})}));
    add(b, emit("matmul", {emit("transpose", {a}), g}));
  }

  void add(Value* of, Value* gradient) {
    gradient = unbroadcast(gradient, of);
    Value*& sum = gradients_[of];
    sum = sum ? emit("add", {sum, gradient}) : gradient;
  }

  /// The gradient of a broadcast operand is summed over the broadcast axes.
  Value* unbroadcast(Value* gradient, const Value* of) {
    if (gradient->type == of->type) return gradient;
    check(gradient->type.is_static() && of->type.is_static(), ErrorCode::unsupported,
          "the derivative of broadcasting needs known shapes");
    const Shape from = gradient->type.shape(), to = of->type.shape();
    std::vector<std::int64_t> axes;
    for (std::size_t d = 0; d < from.rank(); ++d) {
      const std::size_t added = from.rank() - to.rank();
      if (d < added || to[d - added] != from[d]) axes.push_back(static_cast<std::int64_t>(d));
    }
    return emit("reshape", {axes.empty() ? gradient : emit("reduce_sum", {gradient, context_.ints(axes)}),
                            context_.ints(to.dims())});
  }

  Value* emit(std::string_view op, std::vector<Value*> inputs, AttributeMap attributes = {}) {
    return context_.emit(op, std::move(inputs), std::move(attributes));
  }
  Value* constant(const Value* like, double value) { return context_.scalar(like->type.dtype(), value); }

  RuleContext& context_;
  std::map<Value*, Value*> gradients_;
  std::set<Node*> seen_;
  std::vector<Node*> order_;
};

void gradient(RuleContext& context) {
  const auto& xs = context.get<std::vector<std::string>>("xs", "strings");
  std::vector<std::string> names = xs;
  if (context.has_attribute("zs"))
    for (const std::string& name : context.get<std::vector<std::string>>("zs", "strings"))
      names.push_back(name);
  check(context.inputs() == names.size(), ErrorCode::bad_data, "{} inputs for {} names in xs and zs",
        context.inputs(), names.size());
  // A separate value for each name: one value may be fed to several.
  std::vector<Value*> inputs;
  for (std::size_t i = 0; i < names.size(); ++i)
    inputs.push_back(context.emit("identity", {context.required(i)}));
  const ImportGraph between = graph_between(context.model_nodes(), names, context.string("y", ""));
  Backward backward(context);
  backward.run(context.inline_graph(between, inputs).at(0));
  for (std::size_t i = 0; i < xs.size(); ++i) context.set_output(i, backward.of(inputs[i]));
}

} // namespace

void add_gradient_rules(Rules& rules) {
  rules["ai.onnx.preview.training.Gradient"] = gradient;
}

} // namespace lanner::onnx
