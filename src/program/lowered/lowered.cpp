#include "program/lowered/lowered.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/storage_layout.h"
#include "graph/op.h"
#include "graph/storage/within.h"
#include "ops/definition/permutation.h"
#include "ops/table/named.h"
#include "program/lowered/fused_name.h"
#include "program/lowered/views.h"
#include "program/memory/placement.h"

namespace lanner {

/// Products of two dims with constant weights in a fused node that is these and elementwise nodes alone; else
/// 0.
static std::size_t mlp_layers(const Node& node) {
  if (!node.attributes.has("kind") || node.regions().size() != 1) return 0;
  const Region& body = *node.regions().front();
  std::size_t layers = 0;
  for (const auto& inner : body.nodes()) {
    if (is_constant(*inner) || inner->op().elementwise) continue;
    const Value* weights = pattern_of(*inner) == Pattern::contraction ? inner->input(1) : nullptr;
    const bool continues = layers == 0 || inner->input(0)->producer();
    if (!weights || !continues || !weights->type.ranked() || weights->type.rank() != 2 ||
        inner->output()->type.rank() != 2)
      return 0;
    const auto& parameters = body.parameters();
    const auto place = std::ranges::find(parameters, weights, [](const auto& each) { return each.get(); });
    if (place == parameters.end() ||
        !node.input(static_cast<std::size_t>(place - parameters.begin()))->constant())
      return 0;
    ++layers;
  }
  return layers;
}

std::string shown_kind(const Node& node) {
  const std::size_t layers = mlp_layers(node);
  return layers > 1 ? fmt::format("{}-layer MLP", layers) : node.attributes.string("kind", node.kind());
}

std::string fused_name(std::span<const std::string> sources) {
  std::vector<std::string_view> names;
  for (const std::string& source : sources)
    if (std::ranges::find(names, source) == names.end()) names.push_back(source);
  return fmt::format("{}", fmt::join(names, " + "));
}

bool is_planned(const Value& value) {
  return value.type.is_static() && value.type.dtype() != DType::string;
}

bool is_planned(const Node& node) {
  return std::ranges::all_of(node.inputs(),
                             [](const Value* value) { return !value || is_planned(*value); }) &&
         std::ranges::all_of(node.outputs(), [](const auto& value) { return is_planned(*value); });
}

std::uint64_t storage_bytes(const Value& value, const Storage& storage) {
  return memory_bytes(storage, value.type.shape(), storage.dtype.value_or(value.type.dtype()));
}

std::uint64_t storage_bytes(const Value& value) {
  return storage_bytes(value, value.storage);
}

std::map<const Node*, std::size_t> execution_order(const Graph& graph) {
  std::map<const Node*, std::size_t> order;
  for (const auto& node : graph.body().nodes()) order.emplace(node.get(), order.size());
  return order;
}

/// Whether its outputs are, or may become, views of its input's memory.
static bool may_be_alias(const Node& node) {
  if (!node.tactic.backend.empty()) return node.tactic.backend == alias_backend;
  return is_alias(node) || ops::takes_parts(node);
}

bool may_overwrite(const Node& node, std::size_t i, const std::map<const Node*, std::size_t>& order,
                   const CallerMemory& callers) {
  const Node* const reader = &node;
  const Value* value = node.input(i);
  return value && std::ranges::count(node.inputs(), value) == 1 &&
         may_overwrite(*value, {&reader, 1}, order, callers);
}

bool may_overwrite(const Value& value, std::span<const Node* const> readers,
                   const std::map<const Node*, std::size_t>& order, const CallerMemory& callers) {
  const bool ours = value.producer() ? !value.constant() && !may_be_alias(*value.producer())
                                     : callers.may_write(value.index());
  if (!ours) return false;
  // Last reader first: each of a value's many readers is asked about, and only the last one may overwrite.
  const auto uses = value.uses();
  return std::all_of(uses.rbegin(), uses.rend(), [&](const Use& use) {
    if (!use.node) return false;
    if (std::ranges::find(readers, use.node) != readers.end()) return true;
    const auto found = order.find(use.node);
    return found != order.end() && found->second < order.at(readers.back()) && !may_be_alias(*use.node);
  });
}

std::optional<std::size_t> output_number(const Value& value) {
  for (const Use& use : value.uses()) {
    if (!use.node) return use.index;
    if (use.node->tactic.backend != alias_backend || is_part_view(*use.node)) continue;
    if (const auto number = output_number(*use.node->output())) return number;
  }
  return std::nullopt;
}

static bool any_within(const std::vector<Storage>& storages) {
  return std::ranges::any_of(storages,
                             [](const Storage& storage) { return static_cast<bool>(storage.within); });
}

bool lies_within(const Tactic& tactic) {
  return any_within(tactic.inputs) || any_within(tactic.outputs);
}

bool strided_as_it_says(const Tactic& tactic) {
  const auto right = [](const std::vector<Storage>& storages, const std::vector<AxisSet>& strided) {
    for (std::size_t i = 0; i < storages.size(); ++i)
      if (storages[i].within && !(i < strided.size() && strided[i].contains(storages[i].within.axis)))
        return false;
    return true;
  };
  return right(tactic.inputs, tactic.strided_inputs) && right(tactic.outputs, tactic.strided_outputs) &&
         (tactic.in_place < 0 || !lies_within(tactic));
}

Tactic lying_as(Tactic tactic, std::span<const Within> inputs, std::span<const Within> outputs) {
  bool strided = false;
  const auto lay = [&](std::vector<Storage>& storages, std::span<const Within> withins) {
    for (std::size_t i = 0; i < std::min(storages.size(), withins.size()); ++i) {
      storages[i].within = withins[i];
      strided |= static_cast<bool>(withins[i]);
    }
  };
  lay(tactic.inputs, inputs);
  lay(tactic.outputs, outputs);
  if (strided && !tactic.required_in_place) tactic.in_place = -1;
  return tactic;
}

/// The tactic for the node's values as parts of larger ones, where the kernel supports that.
static Tactic lying_as(Tactic tactic, const Node& node) {
  std::vector<Within> inputs, outputs;
  for (const Value* input : node.inputs()) inputs.push_back(input ? input->storage.within : Within{});
  for (const auto& output : node.outputs()) outputs.push_back(output->storage.within);
  return lying_as(std::move(tactic), inputs, outputs);
}

std::optional<OfferedTactic> find_offered(const Node& node, std::span<const Backend* const> backends,
                                          const Target& target) {
  for (const Backend* backend : backends) {
    if (backend->name() != node.tactic.backend) continue;
    for (Tactic& offered : backend->named_tactics(node, target_at(node, *backend, target)).tactics) {
      Tactic tactic = lying_as(std::move(offered), node);
      const auto fits = [&](const Storage& asked, const Value* value) {
        return !value || same_storage(value->type, asked, value->storage);
      };
      bool same = tactic.kernel == node.tactic.kernel && tactic.config == node.tactic.config &&
                  tactic.inputs.size() == node.inputs().size() &&
                  tactic.outputs.size() == node.outputs().size() && strided_as_it_says(tactic);
      for (std::size_t i = 0; same && i < node.inputs().size(); ++i)
        same = fits(tactic.inputs[i], node.inputs()[i]);
      for (std::size_t i = 0; same && i < node.outputs().size(); ++i)
        same = fits(tactic.outputs[i], node.output(i));
      if (same) return OfferedTactic{backend, std::move(tactic)};
    }
  }
  return std::nullopt;
}

static Layout ordered(const ops::Permutation& order, const Shape& shape) {
  Layout layout;
  layout.order.assign(order.begin(), order.end());
  return canonical(layout, shape);
}

bool same_storage(const Type& type, const Storage& a, const Storage& b) {
  const auto dtype = [&](const Storage& storage) {
    return storage.dtype ? *storage.dtype : type.is_tensor() ? type.dtype() : DType::f32;
  };
  const auto same_layout = [&] {
    return a.layout == b.layout || (a.layout.row_major() && b.layout.row_major());
  };
  return dtype(a) == dtype(b) && same_layout() && a.device == b.device && same_quantization(a, b) &&
         a.within == b.within;
}

bool is_alias(const Node& node) {
  const bool same_elements =
      (node.op().view && !is_conversion(node)) || ops::is_transpose(node) || ops::is_cast(node);
  return same_elements && node.input(0) && is_planned(*node.input(0)) && is_planned(*node.output()) &&
         node.input(0)->type.dtype() == node.output()->type.dtype();
}

std::vector<std::pair<Storage, Storage>> alias_storages(const Node& node, const Storage& plain) {
  if (!is_alias(node)) return {};
  if (node.op().view || ops::is_cast(node)) return {{plain, plain}};
  const ops::Permutation p = *ops::permutation_of(&node);
  Storage turned_input = plain, turned_output = plain;
  turned_input.layout = ordered(p, node.input(0)->type.shape());
  turned_output.layout = ordered(ops::inverse(p), node.output()->type.shape());
  return {{plain, turned_output}, {turned_input, plain}};
}

} // namespace lanner
