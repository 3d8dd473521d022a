#include <algorithm>
#include <span>
#include <string>

#include "graph/infer.h"
#include "graph/op.h"
#include "ops/interpreter.h"
#include "ops/recipe.h"
#include "passes/constant_math.h"
#include "passes/folding_work.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "tensor/strings.h"

namespace lanner::passes {

namespace {

// A folded result may take this much, or as much as casting its inputs to a wider type may need; a short
// model file must not turn into a large plan.
constexpr std::uint64_t free_bytes = 1u << 20;
constexpr std::uint64_t growth = 4;
/// Of weights that are made real: as many elements, of two bits at least, as doubles at most.
constexpr std::uint64_t weight_growth = 32;

// A loop may have any number of turns, so what runs within a node is bounded too: such a node is left to the
// run, which can be stopped. No bound on time, which would make plans differ.
constexpr std::uint64_t max_steps = 1u << 14;
constexpr std::uint64_t free_work_bytes = 64u << 20;
constexpr std::uint64_t work_growth = 64;

std::uint64_t bytes_of(const Type& type) {
  if (type.dtype() == DType::string)
    return static_cast<std::uint64_t>(type.shape().elements()) * sizeof(std::string);
  return Layout{}.bytes(type.shape(), type.dtype());
}

std::uint64_t given_bytes(const Node& node) {
  std::uint64_t given = 0;
  for (const Value* input : node.inputs()) {
    if (input) given += bytes_of(input->type);
  }
  return given;
}

bool is_moderate(const Node& node) {
  std::uint64_t made = 0;
  for (const auto& output : node.outputs()) {
    if (!output->type.is_static()) return false;
    made += bytes_of(output->type);
  }
  const std::uint64_t most = node.kind() == "dequantize_linear" ? weight_growth : growth;
  return made <= std::max(free_bytes, given_bytes(node) * most);
}

std::uint64_t longest_string(const Tensor& tensor) {
  std::uint64_t longest = 0;
  if (tensor.dtype() == DType::string)
    for (const std::string& element : tensor.as<std::string>())
      longest = std::max<std::uint64_t>(longest, element.size());
  return longest;
}

/// Whether strings cannot become so many characters that computing them is too much. A type does not tell: an
/// element of a result has the characters of an element of each input at most.
bool are_short_strings(const Node& node) {
  std::uint64_t longest = 0, elements = 0;
  for (const Value* input : node.inputs())
    if (input) longest += longest_string(*input->constant());
  for (const auto& output : node.outputs())
    if (output->type.dtype() == DType::string)
      elements += static_cast<std::uint64_t>(output->type.shape().elements());
  std::uint64_t characters = 0;
  return !__builtin_mul_overflow(longest, elements, &characters) && characters <= free_work_bytes;
}

/// Whether the characters of strings leave a plan small, as is_moderate() says of types.
bool are_moderate(std::span<const Item> results, const Node& node) {
  std::uint64_t made = 0, given = 0;
  for (const Item& result : results) made += characters_of(result.tensor);
  for (const Value* input : node.inputs())
    if (input) given = std::max(given, characters_of(*input->constant()));
  return made <= std::max(free_bytes, given);
}

bool has_constant_inputs(const Node& node) {
  return !node.outputs().empty() &&
         std::ranges::all_of(node.inputs(), [](const Value* input) { return !input || input->constant(); });
}

Value* put_constant(Node& node, std::size_t i, Tensor tensor, const Recipe& recipe) {
  Value* value = node.region()->graph().constant(std::move(tensor), node.output(i)->name(), &node);
  value->producer()->sources = node.sources;
  set_recipe(*value->producer(), recipe);
  node.output(i)->replace_all_uses(value);
  take_name(*value, *node.output(i));
  return value;
}

bool is_folded_away(const Node& node) {
  return std::ranges::all_of(node.outputs(), [](const auto& output) { return output->unused(); });
}

/// What a node of constants gives, where that is of moderate size and work.
std::optional<std::vector<Item>> results_of(const Node& node) {
  if (node.kind() == "constant" || !has_constant_inputs(node) || !is_pure(node) || !is_moderate(node) ||
      !are_short_strings(node) || !is_little_work(node))
    return std::nullopt;
  std::vector<Item> items;
  std::vector<const Item*> inputs;
  items.reserve(node.inputs().size());
  for (const Value* input : node.inputs()) {
    inputs.push_back(input ? &items.emplace_back(*input->constant()) : nullptr);
  }
  NodeRunOptions options;
  options.steps = max_steps;
  options.bytes = std::max(free_work_bytes, given_bytes(node) * work_growth);
  std::vector<Item> results;
  try {
    results = run_node(node, inputs, options);
  } catch (const Error& error) {
    // Not every operator has a reference, and a branch that never runs may hold what cannot be computed.
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::out_of_memory) throw;
    check_deadline();
    return std::nullopt;
  }
  if (!are_moderate(results, node)) return std::nullopt;
  return results;
}

/// Weights stay in the few bits that the model holds them in: lowering makes them real where no kernel takes
/// them so. What is no weight, as in recipes, is a number like any other.
bool is_weight(const Node& node) {
  return node.kind() == "dequantize_linear" && node.input(0)->constant() &&
         !recipe_of(*node.input(0)->producer()).literal();
}

bool compute(Node& node) {
  if (is_weight(node)) return false;
  const auto results = results_of(node);
  if (!results) return false;
  for (std::size_t i = 0; i < results->size(); ++i) {
    if (!node.output(i)->unused()) put_constant(node, i, (*results)[i].tensor, recipe_of_result(node, i));
  }
  node.region()->erase(&node);
  return true;
}

bool place_known(Node& node, const KnownValues& known) {
  if (node.kind() == "constant" || !is_pure(node)) return false;
  bool changed = false;
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const Known& about = known.of(node.output(i));
    if (!about.tensor || node.output(i)->unused()) continue;
    put_constant(node, i, *about.tensor, {});
    changed = true;
  }
  if (changed && is_folded_away(node)) node.region()->erase(&node);
  return changed;
}

} // namespace

Value* fold_node(Node& node) {
  const auto results = results_of(node);
  if (!results || !results->front().tensor.defined()) return nullptr;
  Value* made = put_constant(node, 0, results->front().tensor, recipe_of_result(node, 0));
  node.region()->erase(&node);
  return made;
}

bool fold_constants(Graph& graph) {
  const KnownValues known(graph);
  // What is known of a constant's sizes says nothing of its source weights.
  return for_each_node(graph, [&](Node& node) { return compute(node) || place_known(node, known); });
}

} // namespace lanner::passes
