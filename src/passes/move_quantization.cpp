// quantize_linear moves up and dequantize_linear down, past operators that only move elements and max_pool,
// so that these run on the stored integers; a quantize_linear of what a dequantize_linear with the same scale
// and zero point makes is nothing. A clip of stored integers becomes one of the reals before. Only where one
// scale and zero point apply to all elements.
//
// Transposes of values are left to sink_transposes, which takes them past both.

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/limits/account.h"
#include "graph/op.h"
#include "ops/definition/permutation.h"
#include "ops/definition/recipe.h"
#include "passes/passes.h"
#include "passes/rewriting/constant_math.h"
#include "passes/rewriting/quantization.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {
namespace {

bool is_byte(DType type) {
  return type == DType::i8 || type == DType::u8;
}

/// Whether every element of the results is one of input 0, in the same order.
bool is_view(const Node& node) {
  const std::string& kind = node.kind();
  return kind == "reshape" || kind == "flatten" || kind == "squeeze" || kind == "unsqueeze";
}

bool is_nearest_resize(const Node& node) {
  return node.kind() == "resize" && node.attributes.string("mode", "nearest") == "nearest" &&
         node.attributes.string("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
}

bool is_plain_max_pool(const Node& node) {
  return node.kind() == "max_pool" && (node.outputs().size() == 1 || node.output(1)->unused());
}

/// Whether elements of the results are those of the inputs `moved`, none left out.
bool moves_all(const Node& node) {
  const std::string& kind = node.kind();
  return is_view(node) || kind == "expand" || kind == "depth_to_space" || kind == "space_to_depth" ||
         kind == "concat" || kind == "split" || is_nearest_resize(node);
}
bool moves_some(const Node& node) {
  return node.kind() == "slice" || (node.kind() == "gather" && node.input(1) && node.input(1)->constant());
}

/// The inputs whose elements are moved: the first ones.
std::size_t moved_inputs(const Node& node) {
  return node.kind() == "concat" ? node.own_inputs().size() : 1;
}

/// Whether each input is dequantised like `like`.
bool undoes_all(const Node& mover, const Node& like) {
  for (std::size_t i = 0; i < moved_inputs(mover); ++i) {
    const Node* maker = mover.input(i)->producer();
    if (!dequantizes(maker) || !same_quantization(*maker, like)) return false;
  }
  return true;
}

/// Whether quantize_linear may move above: it then quantises no more elements than before, or there is
/// nothing left to quantise, or a maximum over a contraction's results is taken, which stores integers
/// itself.
bool rises_above(const Node& mover, const Node& quantize) {
  if (!mover.regions().empty()) return false;
  if (is_plain_max_pool(mover)) return is_byte(stored_type(quantize)) && keeps_order(quantize);
  return moves_all(mover) || (moves_some(mover) && undoes_all(mover, quantize));
}

/// Whether the mover's results have no readers but quantize_linear like `quantize`.
bool is_quantized_only(const Node& mover, const Node& quantize) {
  return std::ranges::all_of(mover.outputs(), [&](const auto& output) {
    return std::ranges::all_of(output->uses(), [&](const Use& use) {
      return use.node && use.index == 0 && quantizes(use.node) && same_quantization(*use.node, quantize) &&
             use.node->region() == mover.region();
    });
  });
}

/// The mover on other inputs, before `before`; `type`: of the elements that it moves. Takes no names.
Node* emit_mover(Node& before, const Node& mover, std::span<Value* const> inputs, DType type) {
  Region& region = *before.region();
  Node* const made = region.create(mover.op(), inputs, &before);
  made->attributes = mover.attributes;
  made->sources = mover.sources;
  for (const auto& output : mover.outputs())
    made->add_output(region.graph().unique_name(output->name()), output->type.with_dtype(type));
  return made;
}

/// quantize_linear(mover(x)) becomes mover(quantize_linear(x)). Adds the new quantize_linear to `more`.
bool move_up(Node& quantize, std::vector<Node*>& more) {
  Node* const mover = quantize.input(0)->producer();
  if (!mover || mover->region() != quantize.region() || !rises_above(*mover, quantize) ||
      !is_quantized_only(*mover, quantize))
    return false;
  if (is_plain_max_pool(*mover)) note_decided(quantize.region()->graph(), quantize.input(1));
  const DType type = stored_type(quantize);
  std::vector<Value*> inputs(mover->inputs().begin(), mover->inputs().end());
  for (std::size_t i = 0; i < moved_inputs(*mover); ++i) {
    inputs[i] = emit_quantization(quantize, quantize, inputs[i], inputs[i]->type.with_dtype(type));
    more.push_back(inputs[i]->producer());
  }
  Node* const made = emit_mover(quantize, *mover, inputs, type);
  for (std::size_t i = 0; i < mover->outputs().size(); ++i) {
    const std::vector<Use> uses(mover->output(i)->uses().begin(), mover->output(i)->uses().end());
    for (const Use& use : uses) {
      note_same_quantization(*use.node, quantize);
      take_sources(*made, *use.node);
      use.node->output()->replace_all_uses(made->output(i));
      if (use.node == uses.front().node) take_name(*made->output(i), *use.node->output());
    }
  }
  quantize.region()->erase(&quantize);
  if (std::ranges::all_of(mover->outputs(), [](const auto& output) { return output->unused(); }))
    mover->region()->erase(mover); // else it would count as a reader of what the next one moves
  return true;
}

/// Whether the mover may run on stored integers with dequantize_linear behind it, without more work.
bool falls_below(const Node& mover, const Node& dequantize) {
  if (!mover.regions().empty()) return false;
  if (is_plain_max_pool(mover)) return is_byte(stored_type(dequantize)) && keeps_order(dequantize);
  if (mover.kind() == "expand" || is_nearest_resize(mover)) return dequantize.output()->uses().size() == 1;
  return moves_all(mover) || moves_some(mover);
}

/// mover(dequantize_linear(q)) becomes dequantize_linear(mover(q)).
bool move_down(Node& mover) {
  const Node* const first = mover.input(0) ? mover.input(0)->producer() : nullptr;
  if (!dequantizes(first) || !falls_below(mover, *first) || !undoes_all(mover, *first)) return false;
  std::vector<Value*> inputs(mover.inputs().begin(), mover.inputs().end());
  for (std::size_t i = 0; i < moved_inputs(mover); ++i) {
    const Node& maker = *inputs[i]->producer();
    if (maker.input(0)->constant()) return false; // weights
    inputs[i] = maker.input(0);
  }
  for (std::size_t i = 0; i < moved_inputs(mover); ++i)
    note_same_quantization(*mover.input(i)->producer(), *first);
  if (is_plain_max_pool(mover)) note_decided(mover.region()->graph(), first->input(1));
  const Node* const made = emit_mover(mover, mover, inputs, stored_type(*first));
  std::vector<Value*> reals;
  for (std::size_t i = 0; i < made->outputs().size(); ++i)
    reals.push_back(emit_quantization(mover, *first, made->output(i), mover.output(i)->type));
  replace_by_copies(mover, reals);
  return true;
}

/// quantize_linear(dequantize_linear(q)) is q.
bool cancel(Node& quantize) {
  const Node* const maker = quantize.input(0)->producer();
  if (!dequantizes(maker) || !same_quantization(*maker, quantize) || !keeps_numbers(quantize)) return false;
  note_same_quantization(*maker, quantize);
  note_decided(quantize.region()->graph(), quantize.input(1));
  replace(quantize, maker->input(0));
  return true;
}

/// Numbers below 0 are stored as the zero point where that is the least number of the type, as 0 is.
bool drop_relu(Node& quantize) {
  const Node* const relu = producer(quantize.input(0), "relu");
  const auto zero = quantize.input(2) ? constant_scalar(quantize.input(2)) : 0.0;
  const DType type = stored_type(quantize);
  const double least = is_signed(type) ? -std::ldexp(1.0, static_cast<int>(bit_width(type)) - 1) : 0;
  if (!relu || !keeps_order(quantize) || zero != least) return false;
  for (std::size_t i : {1, 2})
    if (quantize.input(i)) note_decided(quantize.region()->graph(), quantize.input(i));
  quantize.set_input(0, relu->input(0));
  take_sources(quantize, *relu);
  return true;
}

/// One end of a clip of stored integers as the real that is stored so; null where the type bounds it too.
/// Nothing where it is not known.
std::optional<Value*> real_end(Node& clip, std::size_t i, Node& quantize) {
  if (!clip.input(i)) return nullptr;
  const auto end = constant_scalar(clip.input(i)), scale = constant_scalar(quantize.input(1));
  const auto zero = quantize.input(2) ? constant_scalar(quantize.input(2)) : 0.0;
  if (!end || !scale || !zero) return std::nullopt;
  const DType type = stored_type(quantize);
  const double half = std::ldexp(1.0, static_cast<int>(bit_width(type)) - 1);
  const double least = is_signed(type) ? -half : 0, most = is_signed(type) ? half - 1 : 2 * half - 1;
  if (i == 1 ? *end <= least : *end >= most) return nullptr;
  const auto real = static_cast<float>((*end - *zero) * *scale);
  return clip.region()->graph().constant(Tensor::scalar(real), clip.output()->name() + "_end", &quantize);
}

/// clip(quantize_linear(x)) becomes quantize_linear(clip(x)), whose clip is a step of the node before:
/// numbers of 7 bits, as torch.ao stores them for processors that add products in 16 bits.
bool clip_before(Node& clip) {
  Node* const quantize = clip.kind() == "clip" && clip.input(0) ? clip.input(0)->producer() : nullptr;
  if (!quantizes(quantize) || quantize->region() != clip.region() || !keeps_numbers(*quantize) ||
      !keeps_order(*quantize) || quantize->output()->uses().size() != 1)
    return false;
  const auto least = real_end(clip, 1, *quantize), most = real_end(clip, 2, *quantize);
  if (!least || !most) return false;
  for (std::size_t i : {1, 2}) {
    if (quantize->input(i)) note_decided(clip.region()->graph(), quantize->input(i));
    if (clip.input(i)) note_decided(clip.region()->graph(), clip.input(i));
  }
  if (*least || *most) {
    Value* const x = quantize->input(0);
    std::vector<Value*> inputs = {x, *least};
    if (*most) inputs.push_back(*most);
    quantize->set_input(0, emit_before(*quantize, "clip", inputs, {}, x->type));
  }
  take_sources(*quantize, clip);
  replace(clip, quantize->output());
  return true;
}

/// transpose(dequantize_linear(weights)) becomes dequantize_linear(transpose(weights)), whose transpose is
/// folded.
bool transpose_weights(Node& node) {
  const auto p = ops::permutation_of(&node);
  if (!p || !is_dequantized_constant(node.input(0))) return false;
  const Node& maker = *node.input(0)->producer();
  if (maker.attributes.integer("block_size", 0) != 0 || maker.input(1)->type.rank() > 1) return false;
  AttributeMap attributes = maker.attributes;
  const auto rank = static_cast<std::int64_t>(p->size());
  std::int64_t axis = attributes.integer("axis", 1);
  if (axis < 0) axis += rank;
  const auto place = std::ranges::find(*p, axis);
  if (maker.input(1)->type.rank() == 1 && place != p->end())
    attributes.set("axis", static_cast<std::int64_t>(place - p->begin()));
  ConstantMath math(node);
  AttributeMap order;
  order.set("perm", *p);
  Value* const stored = math.apply("transpose", {maker.input(0)}, std::move(order));
  if (!stored) return false;
  std::vector<Value*> inputs(maker.inputs().begin(), maker.inputs().end());
  inputs[0] = stored;
  replace(node, emit_before(node, "dequantize_linear", inputs, std::move(attributes), node.output()->type));
  return true;
}

bool move(Node& node) {
  if (node.kind() == "transpose") return transpose_weights(node);
  if (clip_before(node)) return true;
  if (!quantizes(&node)) return !node.inputs().empty() && move_down(node);
  bool changed = false;
  for (std::vector<Node*> rising{&node}; !rising.empty();) {
    check_deadline();
    Node& quantize = *rising.back();
    rising.pop_back();
    if (quantize.output()->unused()) continue;
    const bool dropped = drop_relu(quantize);
    changed = cancel(quantize) || move_up(quantize, rising) || dropped || changed;
  }
  return changed;
}

} // namespace

bool move_quantization(Graph& graph) {
  return for_each_node(graph, move);
}

} // namespace lanner::passes
