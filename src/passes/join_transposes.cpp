// Transposes move down through reshapes, slices and products that work on rows, where they cancel with others
// or become one with them. torch.nn.MultiheadAttention works on [sequence, batch, channels], so that each
// layer of a network on [batch, sequence, channels] has a transpose in front and one behind, between which
// all is work on rows; the attention itself transposes its operands anyway.

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/op.h"
#include "passes/passes.h"
#include "passes/rewriting/arrangement.h"
#include "passes/rewriting/reshape_target.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/transposes.h"

namespace lanner::passes {

namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

/// A value of the graph, and what it will be computed from.
struct Place {
  Value* old = nullptr;
  Value* source = nullptr; ///< Null while only gains are computed.
  DType type = DType::f32; ///< Of the source.
  Arrangement moves;       ///< From the source to the value.
};

Type source_type(const Place& place) {
  return Type(place.type, place.moves.source());
}

bool one_result(const Node& node) {
  return node.outputs().size() == 1 && node.output()->type.ranked() && node.regions().empty();
}

/// Whether a constant of this type is the same for all rows of a value.
bool same_for_rows(const Type& constant, std::size_t rank) {
  if (!constant.ranked() || constant.rank() > rank) return false;
  for (std::size_t i = 0; i + 1 < constant.rank(); ++i)
    if (constant.dims()[i] != Dim(1)) return false;
  return true;
}

bool is_single(const Type& type) {
  return type.is_static() && type.shape().elements() == 1;
}

/// Whether the node is an elementwise operation on this value and constants that are the same for all rows.
/// `rows`: whether one of them differs along rows.
bool is_step(const Node& node, const Value& x, bool& rows) {
  if (!works_on_elements(node) || !one_result(node) || node.output()->type.dims() != x.type.dims())
    return false;
  int uses = 0;
  for (const Value* input : node.own_inputs()) {
    if (!input) continue;
    if (input == &x) {
      ++uses;
      continue;
    }
    if (!input->constant() || !same_for_rows(input->type, x.type.rank())) return false;
    rows = rows || !is_single(input->type);
  }
  return uses == 1;
}

bool is_product_of_rows(const Node& node, const Use& use) {
  if (node.kind() != "matmul" || use.index != 0 || !one_result(node)) return false;
  const Type &x = node.input(0)->type, &weights = node.input(1)->type;
  return weights.ranked() && weights.rank() == 2 && x.rank() >= 2 && node.input(0) != node.input(1);
}

/// Follows the readers of a transpose's result, and rewrites them where fewer elements are moved in all. The
/// gain of a rewrite is counted in moved elements.
class Walk {
public:
  explicit Walk(const Graph& graph) : rewrites_left_(graph.node_count()) {
    for (const auto& [name, symbol] : graph.symbols) {
      constexpr std::int64_t usual = 8;
      sizes_[name] =
          symbol.opt > 0 ? symbol.opt : std::clamp(usual, symbol.min, std::max(symbol.min, symbol.max));
    }
  }

  /// `node` is a transpose.
  bool visit(Node& node) {
    const Type& type = node.input(0)->type;
    if (node.output()->unused() || !moves_data(type) || rewrites_left_ == 0) return false;
    Place place{node.output(), nullptr, type.dtype(), Arrangement(type.dims())};
    place.moves.transpose(*ops::permutation_of(&node));
    visited_ = 0;
    const Choice choice = choose(place, 0);
    if (!pays(cost(place) + choice.gain) || visited_ > most_visited) return false;
    --rewrites_left_;
    place.source = node.input(0);
    rewrite_readers(place, choice, 0);
    return true;
  }

private:
  static constexpr int most_visited = 4000;
  static constexpr std::size_t most_steps = 24, most_readers = 16;
  /// Costs are counted in moved elements; any transpose costs more than all elements. Sums of these numbers
  /// are exact, so that a rewrite which changes nothing has no gain.
  static constexpr double of_reshape = 1, of_transpose = 0x1p40;
  static constexpr std::size_t most_dims = 6; ///< Of a transpose: kernels are slow on more.

  /// Whether there are fewer transposes than before, which move no more elements.
  static bool pays(double gain) {
    constexpr double few_reshapes = 16 * of_reshape;
    const double transposes = std::round(gain / of_transpose);
    return transposes > 0 && gain - transposes * of_transpose > -few_reshapes;
  }

  static bool moves_data(const Type& type) {
    return type.ranked() && type.rank() > 0 && std::ranges::find(type.dims(), Dim(0)) == type.dims().end();
  }

  /// What the transpose costs whose result this is. Products read their operands' matrices either way.
  /// `read`: whether the result's readers read it as the transpose leaves it.
  double cost_of_transpose(const Value& result, const ops::Permutation& order, bool read) const {
    ops::Permutation swapped = order;
    if (swapped.size() > 1) std::swap(swapped.back(), swapped[swapped.size() - 2]);
    const bool free =
        read && ops::is_identity(swapped) && std::ranges::all_of(result.uses(), [](const Use& use) {
          return use.node && use.node->kind() == "matmul";
        });
    if (free) return 0;
    double elements = 1;
    for (const Dim& dim : result.type.dims())
      elements *= static_cast<double>(std::max<std::int64_t>(dim.evaluate(sizes_), 1));
    return of_transpose + std::min(elements, of_transpose / 64);
  }

  /// What computing the place's value from its source costs.
  double cost(const Place& place) const {
    const Arrangement& a = place.moves;
    if (a.source() == a.result() && a.keeps_order()) return 0;
    const Type from = source_type(place), to{place.type, a.result()};
    if (a.keeps_order()) return reshape_target(from, to) ? of_reshape : -never;
    const Arrangement::Moves moves = a.moves();
    if (moves.order.size() > most_dims) return -never;
    const Type split{place.type, moves.split}, moved = ops::permuted(split, moves.order);
    double cost = cost_of_transpose(*place.old, moves.order, moved == to);
    if (split != from) cost += reshape_target(from, split) ? of_reshape : -never;
    if (moved != to) cost += reshape_target(moved, to) ? of_reshape : -never;
    return cost;
  }

  /// The value computed from its source, before `before`.
  static Value* arrange(Node& before, const Place& place) {
    const Arrangement& a = place.moves;
    Value* value = place.source;
    const auto regroup = [&](const Dims& dims) {
      const Type to = value->type.with_dims(dims);
      if (value->type != to) value = emit_reshape(before, value, *reshape_target(value->type, to), to);
    };
    if (!a.keeps_order()) {
      const Arrangement::Moves moves = a.moves();
      regroup(moves.split);
      value = emit_transpose(before, value, moves.order);
    }
    regroup(a.result());
    return value;
  }

  /// What is done at a place for the largest gain: whether its value is computed, and which readers are
  /// computed from the source instead.
  struct Choice {
    double gain = 0;
    bool computed = true;
    std::vector<bool> passed; ///< By reader.
  };

  Choice choose(const Place& place, std::size_t depth) {
    const auto uses = place.old->uses();
    Choice choice{-cost(place), true, std::vector<bool>(uses.size())};
    if (depth == most_steps || uses.empty() || uses.size() > most_readers || ++visited_ > most_visited)
      return choice;
    double all = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const double gain = gain_by(place, uses[i], depth);
      all += gain;
      choice.passed[i] = gain > 0;
      if (gain > 0) choice.gain += gain;
    }
    return all > choice.gain ? Choice{all, false, std::vector<bool>(uses.size(), true)} : choice;
  }

  /// The gain where this reader is computed from the source.
  double gain_by(const Place& place, const Use& use, std::size_t depth) {
    double gain = 0;
    const auto next = pass(place, use, gain);
    if (!next) return never;
    for (const Place& each : *next) gain += choose(each, depth + 1).gain;
    return gain;
  }

  void rewrite_readers(const Place& place, const Choice& choice, std::size_t depth) {
    const std::vector<Use> uses(place.old->uses().begin(), place.old->uses().end());
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!choice.passed[i]) continue;
      double saved = 0;
      const auto next = pass(place, uses[i], saved);
      for (const Place& each : *next) rewrite(each, depth + 1);
    }
  }

  void rewrite(const Place& place, std::size_t depth) {
    visited_ = 0;
    const Choice choice = choose(place, depth);
    Value* const value = choice.computed ? arrange(*place.old->producer(), place) : nullptr;
    rewrite_readers(place, choice, depth);
    if (!value) return;
    place.old->replace_all_uses(value);
    if (value->name().starts_with(place.old->name() + "_")) take_name(*value, *place.old);
  }

  /// The results of a reader of the place's value, computed without the moves before it, and what is saved;
  /// nothing where that is not possible. With a source, the new nodes are emitted.
  std::optional<std::vector<Place>> pass(const Place& place, const Use& use, double& saved) {
    if (!use.node || use.index >= use.node->own_inputs().size()) return std::nullopt;
    Node& node = *use.node;
    if (const auto p = ops::permutation_of(&node)) return pass_transpose(place, node, *p, saved);
    if (node.kind() == "reshape" && use.index == 0) return pass_reshape(place, node, saved);
    if (node.kind() == "slice" && use.index == 0) return pass_slice(place, node);
    if (node.kind() == "split" && use.index == 0) return pass_split(place, node);
    bool rows = is_product_of_rows(node, use);
    if (rows || is_step(node, *place.old, rows)) return pass_rows(place, node, use, rows, saved);
    return std::nullopt;
  }

  using Places = std::optional<std::vector<Place>>;

  Places pass_transpose(Place place, Node& node, const ops::Permutation& p, double& saved) {
    saved =
        ops::moves_nothing(node.input(0)->type, p) ? of_reshape : cost_of_transpose(*node.output(), p, true);
    place.moves.transpose(p);
    place.old = node.output();
    return std::vector{place};
  }

  static Places pass_reshape(Place place, Node& node, double& saved) {
    if (!node.output()->type.ranked() || !place.moves.reshape(node.output()->type.dims()))
      return std::nullopt;
    saved = of_reshape;
    place.old = node.output();
    return std::vector{place};
  }

  /// A product or elementwise operation, on rows that are in another order now.
  Places pass_rows(Place place, Node& node, const Use& use, bool rows, double& saved) {
    if (rows && !place.moves.keeps_last()) {
      Place first{place.old, place.source, place.type, place.moves.take_last()};
      if (!place.moves.keeps_last()) return std::nullopt;
      saved = -cost(first);
      if (place.source) place.source = arrange(node, first);
    }
    const Type& result = node.output()->type;
    const Dim last = result.dims().back();
    if (rows) place.moves.set_last(last);
    place.type = result.dtype();
    if (place.source) {
      std::vector<Value*> inputs(node.own_inputs().begin(), node.own_inputs().end());
      inputs[use.index] = place.source;
      place.source = emit_before(node, node.kind(), inputs, node.attributes, source_type(place));
    }
    place.old = node.output();
    return std::vector{place};
  }

  /// One part along an axis of the place's value, from `begin` on.
  static std::optional<Place> part(Place place, Node& node, std::size_t axis, std::int64_t begin,
                                   Value* result) {
    const Type before = source_type(place), &type = result->type;
    const auto from = place.moves.isolate(axis);
    if (!from || !type.ranked() || !type.dims()[axis].constant()) return std::nullopt;
    const std::int64_t size = *type.dims()[axis].constant();
    if (size == 0) return std::nullopt;
    const Type split = source_type(place);
    const auto target = split == before ? std::vector<std::int64_t>() : reshape_target(before, split);
    if (!target) return std::nullopt;
    place.moves.set_size(*from, axis, Dim(size));
    if (place.source && split != before) place.source = emit_reshape(node, place.source, *target, split);
    if (place.source) {
      const std::vector<Value*> inputs{place.source, integers_before(node, {begin}, "begin"),
                                       integers_before(node, {begin + size}, "end"),
                                       integers_before(node, {static_cast<std::int64_t>(*from)}, "axis")};
      place.source = emit_before(node, "slice", inputs, {}, source_type(place));
    }
    place.old = result;
    return place;
  }

  static std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    return axis >= 0 && axis < static_cast<std::int64_t>(rank) ? std::optional(static_cast<std::size_t>(axis))
                                                               : std::nullopt;
  }

  static Places pass_slice(const Place& place, Node& node) {
    const auto begins = constant_integers(node.input(1)), axes = constant_integers(node.input(3));
    const auto steps = node.input(4) ? constant_integers(node.input(4)) : std::vector<std::int64_t>{1};
    if (!begins || begins->size() != 1 || steps != std::vector<std::int64_t>{1}) return std::nullopt;
    if (node.input(3) && (!axes || axes->size() != 1)) return std::nullopt;
    const Dims& dims = place.moves.result();
    const auto axis = axis_of(axes ? axes->front() : 0, dims.size());
    const auto whole = axis ? dims[*axis].constant() : std::nullopt;
    if (!whole) return std::nullopt;
    std::int64_t begin = begins->front() < 0 ? begins->front() + *whole : begins->front();
    begin = std::clamp<std::int64_t>(begin, 0, *whole);
    const auto next = part(place, node, *axis, begin, node.output());
    return next ? Places(std::vector{*next}) : std::nullopt;
  }

  static Places pass_split(const Place& place, Node& node) {
    const auto axis = axis_of(node.attributes.integer("axis", 0), place.moves.result().size());
    if (!axis) return std::nullopt;
    std::vector<Place> parts;
    std::int64_t begin = 0;
    for (const auto& output : node.outputs()) {
      const auto next = part(place, node, *axis, begin, output.get());
      if (!next) return std::nullopt;
      begin += *output->type.dims()[*axis].constant();
      if (!output->unused()) parts.push_back(*next);
    }
    return parts;
  }

  Bindings sizes_;
  std::size_t rewrites_left_; ///< A rewrite leaves fewer transposes, so that this is never reached.
  int visited_ = 0;
};

} // namespace

bool join_transposes(Graph& graph) {
  Walk walk(graph);
  const bool changed = for_each_node(
      graph, [&](Node& node) { return ops::permutation_of(&node).has_value() && walk.visit(node); });
  if (changed) drop_dead_nodes(graph);
  return changed;
}

} // namespace lanner::passes
