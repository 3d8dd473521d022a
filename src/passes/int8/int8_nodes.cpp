#include "passes/int8/int8_nodes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/check.h"
#include "graph/op.h"
#include "ops/elementwise/quantization.h"
#include "passes/rewriting/constant_math.h"

namespace lanner::passes {
namespace {

bool is_f32(const Value* value) {
  return value && value->type.is_tensor() && value->type.dtype() == DType::f32 && value->type.ranked();
}

/// Axis of the weights with an index for each channel of the result; nothing for other contractions.
std::optional<std::int64_t> weight_axis(const Node& node) {
  const Dims weights = node.input(1)->type.dims();
  if (node.kind() == "conv") return 0;
  return node.kind() == "matmul" && weights.size() == 2 ? std::optional<std::int64_t>(1) : std::nullopt;
}

std::optional<Int8Candidate> candidate_of(const Node& node) {
  if (pattern_of(node) != Pattern::contraction || node.outputs().size() != 1) return std::nullopt;
  const Value *x = node.input(0), *weights = node.input(1);
  if (!is_f32(x) || !is_f32(weights) || !is_f32(node.output()) || x->constant() || !weights->constant())
    return std::nullopt;
  const auto axis = weight_axis(node);
  if (!axis || weights->constant()->elements() == 0) return std::nullopt;
  return Int8Candidate{node.output()->name(), x->name(), *axis};
}

AttributeMap axis_attribute(std::int64_t axis) {
  AttributeMap attributes;
  attributes.set("axis", axis);
  return attributes;
}

Value* emit_before(Node& before, std::string_view kind, std::vector<Value*> inputs, AttributeMap attributes,
                   const Type& type, const std::string& hint) {
  return before.region()->graph().emit(kind, inputs, std::move(attributes), type, hint, &before);
}

/// Whether it only moves elements of f32 tensors, or takes the largest of some: it may run on stored
/// integers, all of one scale.
bool moves_reals(const Node& node) {
  const bool moves = pattern_of(node) == Pattern::movement || node.kind() == "max_pool";
  return moves && node.regions().empty() && node.outputs().size() == 1 && is_f32(node.output()) &&
         is_f32(node.input(0)) && node.op().pure;
}

/// Rounds values as INT8 stores them.
class Rounding {
public:
  explicit Rounding(Graph& graph) : graph_(graph) {}

  /// The value behind quantize_linear and dequantize_linear, placed directly after its producer.
  Value* rounded(Value& value, const StoredScale& stored) {
    Value*& made = made_[{&value, stored.scale, stored.has_negative}];
    if (made) return made;
    Node* const first = after(value);
    const std::string& name = value.name();
    Value* const scale =
        graph_.constant(Tensor::scalar(static_cast<float>(stored.scale)), name + "_scale", first);
    const DType type = stored.has_negative ? DType::i8 : DType::u8;
    AttributeMap attributes;
    attributes.set("output_dtype", type);
    Value* const bytes = emit_before(*first, "quantize_linear", {&value, scale}, std::move(attributes),
                                     value.type.with_dtype(type), name + "_int8");
    made = emit_before(*first, "dequantize_linear", {bytes, scale}, {}, value.type, name + "_rounded");
    nodes_.insert(bytes->producer());
    return made;
  }

  /// Rounds also what the nodes before it that only move elements read, so that they can move bytes.
  void spread(Value& value, const StoredScale& stored) {
    Node* const producer = value.producer();
    if (!producer || !moves_reals(*producer)) return;
    for (std::size_t i = 0; i < producer->inputs().size(); ++i) {
      Value* const operand = producer->inputs()[i];
      if (!is_f32(operand) || operand->constant() || is_rounded(*operand)) continue;
      const bool alone = operand->uses().size() == 1;
      producer->set_input(i, rounded(*operand, stored));
      if (alone) spread(*operand, stored);
    }
  }

  /// Redirects the readers that shall read the rounded value: those chosen, and elementwise ones.
  void redirect(Value& value, Value& rounded, const std::set<const Node*>& chosen) const {
    const std::vector<Use> uses(value.uses().begin(), value.uses().end());
    for (const Use& use : uses) {
      if (!use.node || nodes_.contains(use.node)) continue;
      const bool reads = (chosen.contains(use.node) && use.index == 0) ||
                         (use.node->op().elementwise && use.node->region() == value.region());
      if (reads) use.node->set_input(use.index, &rounded);
    }
  }

private:
  static bool is_rounded(const Value& value) {
    return value.producer() && ops::dequantizes(*value.producer());
  }

  Node* after(Value& value) const {
    const Region::Nodes& nodes = graph_.body().nodes();
    Node* const next = value.producer() ? graph_.body().next(value.producer())
                       : nodes.empty()  ? nullptr
                                        : nodes.front().get();
    check(next, ErrorCode::internal, "%{} has no reader", value.name());
    return next;
  }

  Graph& graph_;
  std::map<std::tuple<const Value*, double, bool>, Value*> made_;
  std::set<const Node*> nodes_; ///< The quantize_linear made here.
};

} // namespace

std::vector<Int8Candidate> int8_candidates(const Graph& graph) {
  std::vector<Int8Candidate> found;
  for (const auto& node : graph.body().nodes())
    if (auto candidate = candidate_of(*node)) found.push_back(std::move(*candidate));
  return found;
}

bool is_quantized(const Graph& graph) {
  return std::ranges::any_of(graph.body().nodes(), [](const auto& node) {
    return ops::quantizes(*node) || ops::dequantizes(*node);
  });
}

Value* rounded_by(Graph& graph, Value& value, Value& scale, bool has_negative) {
  const StoredScale stored{1, has_negative};
  const Type& type = value.type;
  Value* const least = graph.constant(Tensor::scalar(static_cast<float>(stored.least())));
  Value* const most = graph.constant(Tensor::scalar(static_cast<float>(stored.most())));
  const auto emit = [&](std::string_view kind, std::vector<Value*> inputs) {
    return graph.emit(kind, inputs, {}, type);
  };
  Value* const whole = emit("round", {emit("div", {&value, &scale})});
  return emit("mul", {emit("clip", {whole, least, most}), &scale});
}

StoredScale StoredScale::of(double threshold, bool has_negative) {
  return {threshold / (has_negative ? 127 : 255), has_negative};
}

Value* quantized_weights(Node& before, Value* weights, std::int64_t axis) {
  ConstantMath math(before);
  Graph& graph = before.region()->graph();
  const auto rank = static_cast<std::int64_t>(weights->type.rank());
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != axis) others.push_back(i);
  AttributeMap flat;
  flat.set("keepdims", std::int64_t{0});
  const auto count = static_cast<std::int64_t>(others.size());
  Value* const axes = graph.constant(Tensor::from<std::int64_t>(others, {count}), "axes", &before);
  Value* const steps = graph.constant(Tensor::scalar(127.0F), "steps", &before);
  // Channels of zeros get a scale too, as nothing can be divided by 0.
  Value* const least = graph.constant(Tensor::scalar(1e-30F), "least", &before);
  Value* largest = math.apply("abs", {weights});
  largest = math.apply("reduce_max", {largest, axes}, flat);
  Value* const scale = math.apply("div", {math.apply("max", {largest, least}), steps});
  AttributeMap stored = axis_attribute(axis);
  stored.set("output_dtype", DType::i8);
  Value* const bytes = math.apply("quantize_linear", {weights, scale}, std::move(stored));
  for (Value* helper : {axes, steps, least})
    if (helper->unused()) helper->region()->erase(helper->producer());
  if (!bytes) return nullptr;
  return emit_before(before, "dequantize_linear", {bytes, scale}, axis_attribute(axis), weights->type,
                     weights->name() + "_rounded");
}

std::vector<std::string> quantize_nodes(Graph& graph, const std::vector<Int8Candidate>& chosen,
                                        const std::map<std::string, StoredScale>& scales,
                                        const std::map<std::string, InputMeans>& corrected) {
  std::vector<std::string> done;
  std::vector<Value*> values;
  std::set<const Node*> nodes;
  for (const Int8Candidate& candidate : chosen) {
    Node& node = *graph.find(candidate.node)->producer();
    Value* const weights = quantized_weights(node, node.input(1), candidate.weight_axis);
    if (!weights) continue;
    Value* const exact = node.input(1);
    node.set_input(1, weights);
    if (const auto means = corrected.find(candidate.node); means != corrected.end())
      correct_bias(node, exact, *weights->producer(), candidate.weight_axis, means->second);
    if (std::ranges::find(values, node.input(0)) == values.end()) values.push_back(node.input(0));
    nodes.insert(&node);
    done.push_back(candidate.node);
  }
  Rounding rounding(graph);
  for (Value* value : values) {
    const StoredScale& scale = scales.at(value->name());
    rounding.redirect(*value, *rounding.rounded(*value, scale), nodes);
    rounding.spread(*value, scale);
  }
  return done;
}

} // namespace lanner::passes
