// Transposes move down through nodes that are independent of the order of dims, until they cancel with their
// inverse or merge with another. Models of channels-last frameworks wrap every convolution in a pair.

#include <algorithm>

#include "graph/op.h"
#include "passes/passes.h"
#include "passes/rewriting/constant_math.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/transposes.h"

namespace lanner::passes {

namespace {

bool is_reduction(const Node& node) {
  return node.kind().starts_with("reduce_") && node.outputs().size() == 1;
}

// Whether a transpose before the node could move after it, by its operator alone.
bool can_sink_through(const Node& node) {
  const std::string& kind = node.kind();
  return works_on_elements(node) || is_reduction(node) || kind == "concat" || kind == "softmax" ||
         kind == "log_softmax" || kind == "pad";
}

bool has_one_element(const Value& value) {
  return value.type.is_static() && value.type.shape().elements() == 1;
}

// The transpose stays for its other uses; sinking pays only if it can sink at all of them.
bool sinks_at_every_use(const Value& value) {
  constexpr std::size_t most = 64;
  return value.uses().size() <= most && std::ranges::all_of(value.uses(), [](const Use& use) {
           return use.node && (use.node->kind() == "transpose" ||
                               (can_sink_through(*use.node) && use.index < use.node->own_inputs().size()));
         });
}

bool has_transpose(const Node& node) {
  return std::ranges::any_of(
      node.own_inputs(), [](const Value* input) { return input && ops::permutation_of(input->producer()); });
}

/// The permutation that all transposed inputs share, when all those transposes could be removed.
std::optional<ops::Permutation> common_permutation(const Node& node, std::size_t inputs) {
  std::optional<ops::Permutation> common;
  for (std::size_t i = 0; i < inputs; ++i) {
    const Value* input = node.input(i);
    const auto p = input ? ops::permutation_of(input->producer()) : std::nullopt;
    if (!p) continue;
    if ((common && *common != *p) || !sinks_at_every_use(*input)) return std::nullopt;
    common = p;
  }
  return common;
}

// The constant, permuted to match an input before its transpose.
Value* unpermuted_constant(Node& before, Value* value, const ops::Permutation& p) {
  const Tensor& tensor = *value->constant();
  Shape shape(std::vector<std::int64_t>(p.size() - tensor.rank(), 1));
  for (std::int64_t size : tensor.shape()) shape.push_back(size);
  ConstantMath math(before);
  Value* spread = math.reshape(value, shape);
  if (spread && spread != value) before.region()->graph().rename(spread, value->name());
  return spread ? emit_transpose(before, spread, ops::inverse(p)) : nullptr;
}

// Per-channel scales, as [N, 1, 1, C], are transposed at no cost.
bool transposes_for_free(const Value& value, const ops::Permutation& p) {
  return value.type.ranked() && value.type.rank() == p.size() &&
         ops::moves_nothing(value.type, ops::inverse(p));
}

/// The node's inputs before the transpose; empty when one is not available. `all`: inputs without a transpose
/// get the inverse one.
std::vector<Value*> inputs_above(Node& node, const ops::Permutation& p, bool all = false) {
  for (const Value* input : node.own_inputs()) {
    if (!input || ops::permutation_of(input->producer()) || has_one_element(*input)) continue;
    const bool fits = input->constant()
                          ? input->constant()->layout().row_major() && input->type.rank() <= p.size()
                          : all || transposes_for_free(*input, p);
    if (!fits) return {};
  }
  std::vector<Value*> inputs;
  for (Value* input : node.own_inputs()) {
    if (!input || (!ops::permutation_of(input->producer()) && has_one_element(*input))) {
      inputs.push_back(input);
    } else if (ops::permutation_of(input->producer())) {
      inputs.push_back(input->producer()->input(0));
    } else if (input->constant()) {
      Value* turned = unpermuted_constant(node, input, p);
      if (!turned) return {};
      inputs.push_back(turned);
    } else {
      inputs.push_back(emit_transpose(node, input, ops::inverse(p)));
    }
  }
  return inputs;
}

void put_below(Node& node, Value* above, const ops::Permutation& p) {
  replace(node, ops::is_identity(p) ? above : emit_transpose(node, above, p));
}

// A contraction's result, possibly after steps with constants, read by the next node alone: one kernel can
// compute all of these, up to the transpose.
bool ends_contraction(const Value& value) {
  const Node* node = value.producer();
  constexpr int most_steps = 4;
  for (int steps = 0; node && steps < most_steps; ++steps) {
    if (pattern_of(*node) == Pattern::contraction) return true;
    if (!works_on_elements(*node)) return false;
    const Node* above = nullptr;
    for (const Value* input : node->own_inputs()) {
      if (!input || input->constant()) continue;
      if (above || input->uses().size() != 1) return false;
      above = input->producer();
    }
    node = above;
  }
  return false;
}

/// Whether a value may get the inverse transpose so that `node` becomes part of a contraction's epilogue. Not
/// where `input` itself ends a contraction with no other use: the transposes would go back and forth.
bool takes_inverse(const Value& input, const Node& node) {
  return !input.constant() && input.type.ranked() && input.type.dims() == node.output()->type.dims() &&
         (input.uses().size() > 1 || !ends_contraction(input));
}

/// The permutation of a contraction's result that the node reads: the node, such as a residual sum, becomes
/// part of that contraction's epilogue. The transposes of other inputs may stay.
std::optional<ops::Permutation> permutation_after_contraction(const Node& node) {
  std::optional<ops::Permutation> common;
  bool ends = false;
  for (const Value* input : node.own_inputs()) {
    const auto p = input ? ops::permutation_of(input->producer()) : std::nullopt;
    if (!input || (common && p && *common != *p)) return std::nullopt;
    if (!p && !takes_inverse(*input, node)) return std::nullopt;
    if (!p) continue;
    common = p;
    const Value* above = input->producer()->input(0);
    ends |= input->uses().size() == 1 && above->uses().size() == 1 && ends_contraction(*above);
  }
  return ends ? common : std::nullopt;
}

bool sink_elementwise(Node& node) {
  const Type& type = node.output()->type;
  const auto fits = [&](const std::optional<ops::Permutation>& p) {
    return p && type.ranked() && type.rank() == p->size();
  };
  auto p = common_permutation(node, node.own_inputs().size());
  std::vector<Value*> inputs;
  if (fits(p)) inputs = inputs_above(node, *p);
  if (inputs.empty()) {
    p = permutation_after_contraction(node);
    if (fits(p)) inputs = inputs_above(node, *p, true);
  }
  if (inputs.empty()) return false;
  put_below(node,
            emit_before(node, node.kind(), inputs, node.attributes,
                        ops::permuted(node.output()->type, ops::inverse(*p))),
            *p);
  return true;
}

bool sink_concat(Node& node) {
  const auto p = common_permutation(node, node.own_inputs().size());
  const bool all = p && std::ranges::all_of(node.own_inputs(), [](const Value* input) {
                     return ops::permutation_of(input->producer()).has_value();
                   });
  if (!all) return false;
  std::vector<Value*> inputs;
  for (Value* input : node.own_inputs()) inputs.push_back(input->producer()->input(0));
  AttributeMap attributes = node.attributes;
  const std::int64_t axis = attributes.get<std::int64_t>("axis");
  attributes.set(
      "axis", (*p)[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(p->size()) : axis)]);
  put_below(
      node,
      emit_before(node, "concat", inputs, attributes, ops::permuted(node.output()->type, ops::inverse(*p))),
      *p);
  return true;
}

bool sink_softmax(Node& node) {
  const auto p = common_permutation(node, 1);
  if (!p) return false;
  AttributeMap attributes = node.attributes;
  const std::int64_t axis = attributes.integer("axis", -1);
  attributes.set(
      "axis", (*p)[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(p->size()) : axis)]);
  Value* const from = node.input(0)->producer()->input(0);
  put_below(node, emit_before(node, node.kind(), std::vector<Value*>{from}, attributes, from->type), *p);
  return true;
}

std::vector<std::int64_t> permuted_axes(std::vector<std::int64_t> axes, const ops::Permutation& p) {
  for (std::int64_t& axis : axes)
    axis = p[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(p.size()) : axis)];
  std::ranges::sort(axes);
  return axes;
}

// The permutation of the remaining dims, renumbered without the reduced ones.
ops::Permutation without(const ops::Permutation& p, const std::vector<std::int64_t>& reduced) {
  ops::Permutation left;
  for (std::int64_t i : p) {
    if (std::ranges::find(reduced, i) != reduced.end()) continue;
    left.push_back(i - std::ranges::count_if(reduced, [&](std::int64_t axis) { return axis < i; }));
  }
  return left;
}

bool sink_reduction(Node& node) {
  const auto p = common_permutation(node, 1);
  const auto axes = constant_integers(node.input(1));
  if (!p || !axes || axes->empty() || !node.output()->type.ranked()) return false;
  const std::vector<std::int64_t> reduced = permuted_axes(*axes, *p);
  const bool keep = node.attributes.flag("keepdims", true);
  const ops::Permutation below = keep ? *p : without(*p, reduced);
  Value* const from = node.input(0)->producer()->input(0);
  const std::vector<Value*> inputs{from, integers_before(node, reduced, "axes")};
  put_below(node,
            emit_before(node, node.kind(), inputs, node.attributes,
                        ops::permuted(node.output()->type, ops::inverse(below))),
            below);
  return true;
}

bool sink_pad(Node& node) {
  const auto p = common_permutation(node, 1);
  const auto pads = constant_integers(node.input(1));
  if (!p || !pads || node.input(3) || pads->size() != 2 * p->size() || !node.output()->type.ranked())
    return false;
  std::vector<std::int64_t> above(pads->size());
  for (std::size_t i = 0; i < p->size(); ++i) {
    const auto to = static_cast<std::size_t>((*p)[i]);
    above[to] = (*pads)[i];
    above[to + p->size()] = (*pads)[i + p->size()];
  }
  std::vector<Value*> inputs{node.input(0)->producer()->input(0), integers_before(node, above, "pads")};
  if (node.input(2)) inputs.push_back(node.input(2));
  put_below(
      node,
      emit_before(node, "pad", inputs, node.attributes, ops::permuted(node.output()->type, ops::inverse(*p))),
      *p);
  return true;
}

bool sink(Node& node) {
  // Transposes sunk to this point may cancel here.
  if (node.kind() == "transpose" && ops::permutation_of(node.input(0)->producer()))
    return simplify_transpose(node);
  if (!can_sink_through(node) || !has_transpose(node)) return false;
  if (works_on_elements(node)) return sink_elementwise(node);
  if (is_reduction(node)) return sink_reduction(node);
  if (node.kind() == "concat") return sink_concat(node);
  if (node.kind() == "pad") return sink_pad(node);
  return sink_softmax(node);
}

} // namespace

bool sink_transposes(Graph& graph) {
  return for_each_node(graph, sink);
}

} // namespace lanner::passes
