#include "program/lowered/precision.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "backends/cpu/stored_types.h"
#include "base/check.h"
#include "graph/op.h"
#include "program/lowered/lowered.h"
#include "program/lowered/named_nodes.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

const PrecisionPin* pin_of(const Node& node, const Precision& precision) {
  const auto found = std::ranges::find_if(
      precision.pins, [&](const PrecisionPin& pin) { return answers(node, pin.pattern); });
  return found == precision.pins.end() ? nullptr : &*found;
}

bool says_f32(const Value* value) {
  return value && value->type.is_tensor() && value->type.dtype() == DType::f32;
}

/// Adds the type that an f32 value is stored in, if that is another.
void add_narrow(std::set<DType>& types, const Value* value, const Storage& storage) {
  if (says_f32(value) && storage.dtype.value_or(DType::f32) != DType::f32) types.insert(*storage.dtype);
}

bool keeps(const Node& node, const std::set<DType>& narrow, const Precision& precision) {
  const std::set<DType>& types = precision.types;
  if (!std::ranges::all_of(narrow, [&](DType type) { return types.contains(type); })) return false;
  if (!precision.strict || types.contains(DType::f32) || only_moves(node) || !narrow.empty()) return true;
  return std::ranges::none_of(node.outputs(), [](const auto& value) { return says_f32(value.get()); });
}

/// Narrow types that a lowered node uses.
std::set<DType> narrow_types(const Node& node) {
  std::set<DType> narrow;
  for (const Value* value : node.inputs())
    if (value) add_narrow(narrow, value, value->storage);
  for (const auto& value : node.outputs()) add_narrow(narrow, value.get(), value->storage);
  return narrow;
}

bool has_kernel(const Node& node) {
  const std::string& backend = node.tactic.backend;
  return !backend.empty() && backend != interpreter_backend && backend != alias_backend &&
         backend != program_backend;
}

/// Nodes that run in types which `target` does not allow for them.
template<typename Wanted>
std::vector<const Node*> breaking(const Graph& lowered, const Target& target, const Wanted& wanted) {
  std::vector<const Node*> list;
  each_node(lowered.body(), [&](const Node& node) {
    if (is_constant(node) || is_conversion(node) || !wanted(node)) return;
    const Node* const one = &node;
    const auto own = target_for({&one, 1}, target);
    if (own && !keeps(node, narrow_types(node), own->precision)) list.push_back(&node);
  });
  return list;
}

bool is_byte(const Value* value) {
  return value && value->type.is_tensor() &&
         (value->type.dtype() == DType::i8 || value->type.dtype() == DType::u8);
}

/// Whether its kernel sums products of bytes.
bool computes_in_bytes(const Node& node) {
  if (!std::ranges::any_of(node.inputs(), is_byte)) return false;
  if (!is_group(node)) return pattern_of(node) == Pattern::contraction;
  return std::ranges::any_of(node.regions().front()->nodes(),
                             [](const auto& inner) { return pattern_of(*inner) == Pattern::contraction; });
}

bool computes_in(const Node& node, DType type) {
  if (type == DType::i8) return has_kernel(node) && computes_in_bytes(node);
  return has_kernel(node) && !only_moves(node) && narrow_types(node).contains(type);
}

std::string no_effect(DType type, const Target& target) {
  if (type == DType::i8)
    return fmt::format("precision int8 has no effect: no kernel for integers was chosen on {}; see explain",
                       target.device.to_string());
  const bool multiplied = type == DType::bf16 && multiplies_bf16(target);
  if (target.device.is_host() && !multiplied)
    return fmt::format(
        "precision {} has no effect: no kernel computes in it on a CPU; all is computed in fp32",
        precision_name(type));
  return fmt::format("precision {} has no effect: no kernel that computes in it was chosen on {}",
                     precision_name(type), target.device.to_string());
}

} // namespace

void check_precision(const Precision& precision) {
  constexpr std::size_t max_pins = 4096;
  const auto known = [](DType type) {
    check(type == DType::f32 || type == DType::f16 || type == DType::bf16 || type == DType::i8,
          ErrorCode::invalid_argument, "precision {}: expected f32, f16, bf16 or i8", to_string(type));
  };
  check(!precision.types.empty(), ErrorCode::invalid_argument,
        "precision: no type is given; expected fp32, fp16, bf16 or int8");
  check(precision.pins.size() <= max_pins, ErrorCode::invalid_argument, "{} pins: expected at most {}",
        precision.pins.size(), max_pins);
  for (const DType type : precision.types) known(type);
  for (const PrecisionPin& pin : precision.pins) {
    known(pin.type);
    check(!pin.pattern.empty(), ErrorCode::invalid_argument,
          "a pin to {} has an empty pattern; expected a node's name", precision_name(pin.type));
  }
}

void check_pins(const Graph& graph, const Precision& precision) {
  for (const PrecisionPin& pin : precision.pins)
    check_answered(graph, pin.pattern, fmt::format("pin '{}={}'", pin.pattern, precision_name(pin.type)));
}

std::optional<DType> narrowest_half(const Precision& precision) {
  for (const DType type : {DType::f16, DType::bf16}) {
    const bool pinned = std::ranges::count(precision.pins, type, &PrecisionPin::type) > 0;
    if (pinned || precision.types.contains(type)) return type;
  }
  return std::nullopt;
}

std::optional<Target> target_for(std::span<const Node* const> nodes, const Target& target) {
  const std::optional<Device> device = placed_on(nodes, target);
  if (!device) return std::nullopt;
  Target own = target.on(*device);
  own.placement = {};
  own.precision.pins.clear();
  if (!own.precision.strict) own.precision.types.insert(DType::f32);
  if (*device != target.device && device->is_host()) return own;
  if (target.precision.pins.empty()) return own;
  std::optional<std::set<DType>> types;
  bool pinned = false;
  for (const Node* node : nodes) {
    const PrecisionPin* pin = pin_of(*node, target.precision);
    std::set<DType> here = pin ? std::set{pin->type} : own.precision.types;
    if (types && *types != here) return std::nullopt;
    types = std::move(here);
    pinned = pinned || pin;
  }
  if (pinned) own.precision.types = std::move(*types);
  own.precision.strict = own.precision.strict || pinned;
  return own;
}

bool keeps(const Tactic& tactic, const Node& node, const Target& own) {
  std::set<DType> narrow;
  for (std::size_t i = 0; i < tactic.inputs.size(); ++i)
    add_narrow(narrow, node.inputs()[i], tactic.inputs[i]);
  for (std::size_t o = 0; o < tactic.outputs.size(); ++o)
    add_narrow(narrow, node.output(o), tactic.outputs[o]);
  return keeps(node, narrow, own.precision);
}

std::vector<std::string> unused_precisions(const Graph& lowered, const Target& target) {
  std::vector<std::string> lines;
  for (const DType type : target.precision.types) {
    bool used = type == DType::f32;
    each_node(lowered.body(), [&](const Node& node) { used = used || computes_in(node, type); });
    if (!used) lines.push_back(no_effect(type, target));
  }
  for (const PrecisionPin& pin : target.precision.pins) {
    const auto pinned = [&](const Node& node) { return pin_of(node, target.precision) == &pin; };
    const std::vector<const Node*> list = breaking(lowered, target, pinned);
    if (!list.empty())
      lines.push_back(fmt::format("pin '{}={}' is not kept by {} of its kernels, {} the first: none computes "
                                  "so on {}",
                                  pin.pattern, precision_name(pin.type), list.size(),
                                  node_name(*list.front()), target.device.to_string()));
  }
  return lines;
}

void check_strict(const Graph& lowered, const Target& target) {
  if (!target.precision.strict) return;
  const std::vector<const Node*> list = breaking(lowered, target, [](const Node&) { return true; });
  if (list.empty()) return;
  fail(ErrorCode::unsupported,
       "precision {} (strict): {} nodes have no kernel in it on {}, {} ({}) the first; pin them to fp32, or "
       "leave strict out",
       target.precision.types_text(), list.size(), target.device.to_string(), node_name(*list.front()),
       shown_kind(*list.front()));
}

} // namespace lanner
