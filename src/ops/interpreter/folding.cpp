#include "ops/interpreter/folding.h"

#include <algorithm>
#include <span>
#include <string>

#include "graph/op.h"
#include "ops/interpreter/folding_work.h"
#include "ops/interpreter/interpreter.h"
#include "tensor/strings.h"

namespace lanner::ops {
namespace {

// A folded result may have this size, or that of its inputs cast to a wider type; a short model file must not
// turn into a large plan.
constexpr std::uint64_t free_bytes = 1u << 20;
constexpr std::uint64_t growth = 4;
/// For dequantised weights: as many elements, from two bits at least to doubles at most.
constexpr std::uint64_t weight_growth = 32;

// A loop may have any number of iterations, so the work of regions is bounded too: a node above the bound is
// left to the run, which can be stopped. The bound is not a time, which would make plans differ.
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

/// Whether strings are short enough that computing with them is cheap. Types do not say that: an element of a
/// result has at most the characters of one element of each input.
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

/// Whether the characters of strings keep a plan small, like is_moderate() for types.
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

} // namespace

bool is_pure(const Node& node) {
  if (!node.op().pure) return false;
  return std::ranges::all_of(node.regions(), [](const auto& region) {
    return std::ranges::all_of(region->nodes(), [](const auto& inner) { return is_pure(*inner); });
  });
}

std::optional<std::vector<Item>> folded_results(const Node& node) {
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
    // Not every operator has a reference, and a branch that never runs may contain nodes that cannot be
    // computed.
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::out_of_memory) throw;
    check_deadline();
    return std::nullopt;
  }
  if (!are_moderate(results, node)) return std::nullopt;
  return results;
}

} // namespace lanner::ops
