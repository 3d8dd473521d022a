#include <algorithm>
#include <numeric>

#include "graph/infer.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

/// A slice of a tensor along an axis, or the whole tensor.
struct Part {
  Value* whole = nullptr;
  std::int64_t begin = 0, end = -1; ///< The whole tensor when end < begin.
  std::int64_t axis = 0;
  bool drops_axis = false;
  bool is_whole() const { return end < begin; }
};
using Parts = std::vector<Part>;

/// An index into `count` elements; the fallback where the input is absent, nothing where it is unknown or out
/// of range.
std::optional<std::size_t> checked_index(const Node& node, std::size_t input, std::size_t count,
                                         std::size_t most, std::size_t fallback) {
  if (!node.input(input)) return fallback;
  const auto asked = constant_integers(node.input(input));
  if (!asked || asked->size() != 1) return std::nullopt;
  const std::int64_t at =
      asked->front() < 0 ? asked->front() + static_cast<std::int64_t>(count) : asked->front();
  if (at < 0 || at >= static_cast<std::int64_t>(most)) return std::nullopt;
  return static_cast<std::size_t>(at);
}

/// Sizes of the parts into which `split_to_sequence` divides an axis; nothing where it fails or depends on
/// data.
std::optional<std::vector<std::int64_t>> part_sizes(const Node& node, const Dim& size) {
  constexpr std::int64_t most_parts = 256;
  const auto asked = constant_integers(node.input(1));
  if (!size.is_constant() || (node.input(1) && (!asked || asked->empty()))) return std::nullopt;
  if (asked && node.input(1)->constant()->rank() == 1) {
    const bool fits =
        std::ranges::all_of(*asked, [&](std::int64_t part) { return part >= 0 && part <= size.value(); }) &&
        std::accumulate(asked->begin(), asked->end(), std::int64_t{0}) == size.value();
    return fits ? asked : std::nullopt;
  }
  if (asked && asked->front() <= 0) return std::nullopt;
  const std::int64_t step = asked ? asked->front() : 1;
  if (size.value() > most_parts * step) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = size.value(); left > 0; left -= step) sizes.push_back(std::min(left, step));
  return sizes;
}

std::optional<Parts> split_parts(const Node& node) {
  const Type& type = node.input(0)->type;
  if (!type.ranked() || type.rank() == 0) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(type.rank());
  const std::int64_t asked = node.attributes.integer("axis", 0), axis = asked < 0 ? asked + rank : asked;
  const auto sizes = part_sizes(node, type.dims()[static_cast<std::size_t>(axis)]);
  if (!sizes) return std::nullopt;
  Parts parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : *sizes) {
    parts.push_back({node.input(0), begin, begin + size, axis,
                     !node.input(1) && !node.attributes.flag("keepdims", true)});
    begin += size;
  }
  return parts;
}

/// The elements of a sequence whose construction is known.
std::optional<Parts> parts_of(const Value* sequence) {
  constexpr std::size_t longest = 1024; // the list is rebuilt for each reader
  std::vector<const Node*> changes;     // in reverse order
  const Node* node = sequence->producer();
  while (node && (node->kind() == "sequence_insert" || node->kind() == "sequence_erase")) {
    if (changes.size() == longest) return std::nullopt;
    changes.push_back(node);
    node = node->input(0)->producer();
  }
  if (!node) return std::nullopt;
  std::optional<Parts> parts;
  if (node->kind() == "sequence_empty") parts.emplace();
  if (node->kind() == "split_to_sequence") parts = split_parts(*node);
  if (node->kind() == "sequence_construct") {
    if (node->own_inputs().size() > longest) return std::nullopt;
    parts.emplace();
    for (Value* input : node->own_inputs()) parts->push_back({input});
  }
  for (auto change = changes.rbegin(); parts && change != changes.rend(); ++change) {
    const std::size_t count = parts->size();
    const bool inserts = (*change)->kind() == "sequence_insert";
    const auto at = inserts ? checked_index(**change, 2, count, count + 1, count)
                            : checked_index(**change, 1, count, count, count - 1);
    if (!at || (!inserts && count == 0)) return std::nullopt;
    const auto position = parts->begin() + static_cast<std::ptrdiff_t>(*at);
    if (inserts)
      parts->insert(position, {(*change)->input(1)});
    else
      parts->erase(position);
  }
  return parts;
}

Type part_type(const Part& part) {
  Dims dims = part.whole->type.dims();
  dims[static_cast<std::size_t>(part.axis)] = Dim(part.end - part.begin);
  return part.whole->type.with_dims(std::move(dims));
}

Value* emitted(const Part& part, Node& before) {
  if (part.is_whole()) return part.whole;
  const Type type = part_type(part);
  Value* const inputs[] = {part.whole, integers_before(before, {part.begin}, "begin"),
                           integers_before(before, {part.end}, "end"),
                           integers_before(before, {part.axis}, "axis")};
  Value* slice = emit_before(before, "slice", inputs, {}, type);
  if (!part.drops_axis) return slice;
  Dims dims = type.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(part.axis));
  Value* const squeezed[] = {slice, integers_before(before, {part.axis}, "axis")};
  return emit_before(before, "squeeze", squeezed, {}, type.with_dims(std::move(dims)));
}

bool forward_element(Node& node, const Parts& parts) {
  const auto at = checked_index(node, 1, parts.size(), parts.size(), 0);
  if (!at) return false;
  replace(node, emitted(parts[*at], node));
  return true;
}

/// concat_from_sequence of known elements is a concat of tensors.
bool forward_whole(Node& node, const Parts& parts) {
  if (parts.empty() || node.attributes.flag("new_axis")) return false;
  std::vector<Value*> inputs;
  for (const Part& part : parts) inputs.push_back(emitted(part, node));
  AttributeMap attributes;
  attributes.set("axis", node.attributes.get<std::int64_t>("axis"));
  replace(node, emit_before(node, "concat", inputs, std::move(attributes), node.output()->type));
  return true;
}

bool forward(Node& node) {
  const bool reads = node.kind() == "sequence_at" || node.kind() == "sequence_length" ||
                     node.kind() == "concat_from_sequence";
  if (!reads || node.output()->type.kind() != Type::Kind::tensor) return false;
  const auto parts = parts_of(node.input(0));
  if (!parts) return false;
  if (node.kind() == "sequence_at") return forward_element(node, *parts);
  if (node.kind() == "concat_from_sequence") return forward_whole(node, *parts);
  const auto count = static_cast<std::int64_t>(parts->size());
  replace(node, node.region()->graph().constant(Tensor::scalar(count), node.output()->name(), &node));
  return true;
}

} // namespace

bool forward_sequences(Graph& graph) {
  const bool changed = for_each_node(graph, [](Node& node) { return forward(node); });
  if (changed) infer_types(graph); // the nodes after these now have inputs of known sizes
  return changed;
}

} // namespace lanner::passes
