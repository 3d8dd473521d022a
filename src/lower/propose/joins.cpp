#include "lower/propose/joins.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/limits/account.h"
#include "ops/definition/axis.h"
#include "ops/table/named.h"
#include "program/lowered/joins.h"
#include "program/lowered/lowered.h"
#include "program/lowered/views.h"
#include "program/slices.h"

namespace lanner {
namespace {

/// Uses beyond which a value is no candidate: the search is quadratic in them.
constexpr std::size_t max_uses = 256;

/// Of the concatenations that read a value the largest, of equal ones the first.
const Node* largest_reader(const Value& value) {
  if (value.uses().size() > max_uses) return nullptr;
  const Node* largest = nullptr;
  std::uint64_t bytes = 0;
  for (const Use& use : value.uses()) {
    if (!use.node || !ops::is_concat(*use.node) || !is_planned(*use.node->output())) continue;
    const std::uint64_t size = storage_bytes(*use.node->output());
    if (largest && size <= bytes) continue;
    largest = use.node;
    bytes = size;
  }
  return largest;
}

bool may_be_part(const Value* value, const Node& concat) {
  return value && value->producer() && !value->constant() && is_planned(*value) &&
         !is_alias(*value->producer()) && std::ranges::count(value->uses(), &concat, &Use::node) == 1 &&
         largest_reader(*value) == &concat;
}

/// Whether it, or a view of all of it, is an output of the graph: a part that is one must be copied.
bool leaves(const Value& value) {
  return std::ranges::any_of(value.uses(), [](const Use& use) {
    return !use.node ||
           (is_alias_of_input(*use.node) && !is_part_view(*use.node) && leaves(*use.node->output()));
  });
}

/// Whether the node writes to memory chosen for it: kernels do, and so do the parts of a join.
bool writes_where_told(const Node& node) {
  return node.tactic.backend != interpreter_backend && node.tactic.backend != program_backend;
}

/// Values of kernels that have to work in place.
struct Overwritten {
  std::set<const Value*> inputs;  ///< Their memory is overwritten.
  std::set<const Value*> outputs; ///< They are in that memory.
};

Overwritten overwritten_by(const InPlaceKernels& kernels) {
  Overwritten found;
  for (const auto& [node, in_place] : kernels) {
    if (!in_place.required) continue;
    found.inputs.insert(node->inputs()[in_place.input]);
    found.outputs.insert(node->outputs()[0].get());
  }
  return found;
}

/// Whether a part cannot be produced in the memory of `whole`.
bool stays_apart(const Value& part, const Value& whole, const Overwritten& overwritten) {
  if (!may_lie_in(part) || !writes_where_told(*part.producer()) || part.storage.parent || leaves(part))
    return true;
  if (overwritten.outputs.contains(&part) || overwritten.inputs.contains(&part)) return true;
  return overwritten.inputs.contains(&whole) && part.uses().size() > 1;
}

} // namespace

const Node* joining_reader(const Value& value) {
  const Node* concat = largest_reader(value);
  const bool joins =
      concat && concat->inputs().size() <= max_uses &&
      std::ranges::all_of(concat->inputs(), [&](const Value* part) { return may_be_part(part, *concat); });
  return joins ? concat : nullptr;
}

/// The storages of the parts of such a result: what each part's kernel writes or, where that is not a
/// contiguous slice, a storage within the result.
static std::optional<std::vector<Storage>> joined_storages(const Node& concat, const Tactic& tactic) {
  const Storage& result = tactic.outputs.at(0);
  const Type& type = concat.output()->type;
  if (joined_offsets(concat, tactic.inputs, result)) return tactic.inputs;
  if (!is_planned(*concat.output()) || type.rank() == 0) return std::nullopt;
  const std::size_t axis = ops::resolve_axis(concat.attributes.integer("axis", 0), type.rank());
  const std::vector<Storage> parts(tactic.inputs.size(), strided_part({type, result}, axis));
  return joined_offsets(concat, parts, result) ? std::optional(parts) : std::nullopt;
}

std::vector<Alternative> joins(const Node& concat, const std::vector<Alternative>& kernels) {
  std::vector<Alternative> list;
  if (!ops::is_concat(concat) || concat.inputs().empty() || !concat.input(0) ||
      joining_reader(*concat.input(0)) != &concat)
    return list;
  std::set<std::string> known;
  for (const Alternative& kernel : kernels) {
    auto parts = joined_storages(concat, kernel.tactic);
    if (!parts) continue;
    Alternative join;
    join.tactic.kernel = alias_backend;
    join.tactic.inputs = std::move(*parts);
    join.tactic.outputs = kernel.tactic.outputs;
    if (known.insert(join.tactic.outputs[0].to_string()).second) list.push_back(std::move(join));
  }
  return list;
}

/// A value that a kernel could write within a larger one, but that is in no concatenation, is stored without
/// gaps, for its readers too.
static void make_others_whole(Graph& graph) {
  for (const auto& node : graph.body().nodes())
    for (const auto& output : node->outputs()) {
      const bool seen = std::ranges::any_of(
          output->uses(), [](const Use& use) { return use.node && is_part_view(*use.node); });
      if (!output->storage.parent && node->tactic.backend != alias_backend && !seen)
        output->storage.within = {};
    }
}

void place_parts(Graph& graph, const InPlaceKernels& in_place,
                 const std::function<Value*(Value& part, Node& before)>& copy) {
  const Overwritten overwritten = overwritten_by(in_place);
  for (const auto& node : graph.body().nodes()) {
    check_deadline();
    if (!is_join(*node)) continue;
    Value& whole = *node->output();
    std::vector<Storage> storages;
    for (const Value* part : node->inputs()) storages.push_back(part->storage);
    const auto offsets = joined_offsets(*node, storages, whole.storage);
    check(offsets.has_value(), ErrorCode::internal, "node {}: its parts do not fill the result",
          node->label());
    for (std::size_t i = 0; i < storages.size(); ++i) {
      Value* part = node->inputs()[i];
      if (stays_apart(*part, whole, overwritten)) {
        part = copy(*part, *node);
        node->set_input(i, part);
      }
      part->storage.parent = &whole;
      part->storage.offset = (*offsets)[i];
    }
  }
  make_others_whole(graph);
}

} // namespace lanner
