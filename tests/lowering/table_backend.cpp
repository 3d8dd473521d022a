#include "lowering/table_backend.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/op.h"
#include "program/lowered/lowered.h"
#include "program/memory/placement.h"
#include "program/program.h"

namespace lanner::test {
namespace {

/// The operators of a fused node, also where they are shown as an MLP.
std::string members_of(const Node& node) {
  return node.attributes.string("kind", node.kind());
}


std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// The text before and after the first `mark`; nothing after where there is none.
std::pair<std::string_view, std::optional<std::string_view>> cut(std::string_view text,
                                                                 std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {trimmed(text), std::nullopt};
  return {trimmed(text.substr(0, at)), trimmed(text.substr(at + mark.size()))};
}

std::vector<std::string_view> split(std::string_view text, std::string_view mark) {
  std::vector<std::string_view> parts;
  for (std::optional<std::string_view> rest = text; rest;) {
    const auto [part, behind] = cut(*rest, mark);
    parts.push_back(part);
    rest = behind;
  }
  return parts;
}

template<typename Number>
Number number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size(), ErrorCode::bad_data, "'{}' is not a number",
        text);
  return value;
}

/// Parses a storage in the spelling of the IR.
SpelledStorage storage_of(std::string_view text) {
  Lexer lexer(text);
  SpelledStorage storage = parse_storage(lexer);
  lexer.expect_end();
  return storage;
}

/// Storages of a node's values, row-major where the list is shorter.
std::vector<Storage> storages_for(const Node& node, const std::vector<SpelledStorage>& spelled,
                                  std::size_t count, const Storage& plain) {
  std::vector<Storage> storages;
  for (const SpelledStorage& one : spelled)
    storages.push_back(one.resolved(
        [&](const ValueReference& reference) { return node.inputs()[number<std::size_t>(reference.name)]; }));
  storages.resize(std::max(storages.size(), count), plain);
  return storages;
}

bool fits(const Value* value, const Storage& storage) {
  const std::size_t rank = storage.layout.order.size();
  return !value || rank == 0 || rank == value->type.rank();
}

} // namespace

TableBackend::TableBackend(std::string_view words, std::string_view table, Queue queue)
    : queue_(std::move(queue)) {
  const auto [names, device] = cut(words, " on ");
  const auto [name, version] = cut(names, " ");
  name_ = name;
  version_ = version.value_or("");
  if (device) device_ = Device::parse(*device);
  if (device_.is_host()) queue_ = nullptr;
  for (std::string_view line : split(table, "\n")) {
    if (line.empty()) continue;
    check(line.starts_with("//"), ErrorCode::bad_data, "expected a rule after //, got '{}'", line);
    add_rule(trimmed(line.substr(2)));
  }
}

void TableBackend::add_rule(std::string_view line) {
  if (line.starts_with("fuses ")) {
    fused_.emplace_back(trimmed(line.substr(6)));
  } else if (line.starts_with("proposes ")) {
    std::vector<std::string> names;
    for (const std::string_view name : split(line.substr(9), ",")) names.emplace_back(name);
    proposed_.push_back(std::move(names));
  } else if (line.starts_with("no ")) {
    const auto [kind, reason] = cut(line.substr(3), ":");
    check(reason.has_value(), ErrorCode::bad_data, "expected a reason after a colon, got '{}'", line);
    reasons_.emplace_back(kind, *reason);
  } else {
    rules_.push_back(parse_offer(line));
  }
}

TableBackend::Rule TableBackend::parse_offer(std::string_view line) const {
  const auto [head, body] = cut(line, ":");
  const auto [storages, costs] = cut(body.value_or(""), " = ");
  const auto [inputs, outputs] = cut(storages, "->");
  check(costs && outputs, ErrorCode::bad_data, "expected KIND: STORAGES -> STORAGES = COST, got '{}'", line);
  Rule rule;
  const auto [kind, kernel] = cut(head, " as ");
  const auto [kernel_name, config] = cut(kernel.value_or(kind), "/");
  rule.kind = kind;
  rule.tactic.kernel = kernel_name;
  for (const char c : config.value_or("")) rule.tactic.config.push_back(static_cast<std::byte>(c));
  rule.inputs = parse_storages(inputs);
  rule.outputs = parse_storages(*outputs);
  const std::vector<std::string_view> parts = split(*costs, ",");
  rule.tactic.estimate = number<double>(parts.front()) / 1000;
  for (std::size_t i = 1; i < parts.size(); ++i) parse_option(parts[i], rule);
  return rule;
}

void TableBackend::parse_option(std::string_view option, Rule& rule) const {
  if (option == "later") {
    rule.later = true;
    return;
  }
  if (option == "strided") {
    rule.strided = true;
    return;
  }
  if (option.starts_with("to ")) {
    rule.type = parse_dtype(option.substr(3));
    return;
  }
  if (option.starts_with("fault ")) {
    rule.fault = parse_fault(option.substr(6));
    return;
  }
  rule.tactic.required_in_place = option.starts_with("overwrites ");
  check(rule.tactic.required_in_place || option.starts_with("in place "), ErrorCode::bad_data,
        "'{}' is not an option of a rule", option);
  rule.tactic.in_place = number<int>(option.substr(option.rfind(' ') + 1));
}

std::vector<SpelledStorage> TableBackend::parse_storages(std::string_view list) {
  std::vector<SpelledStorage> storages;
  for (const std::string_view part : split(list, ","))
    if (!part.empty()) storages.push_back(storage_of(part));
  return storages;
}

bool TableBackend::fuses(std::span<const Node* const> group, const Node& next, const Target&) const {
  std::string kinds;
  for (const Node* node : group) kinds += node->kind() + "+";
  return std::ranges::count(fused_, kinds + next.kind()) > 0;
}

std::vector<std::vector<const Node*>> TableBackend::propose(const Node& anchor, const Target&) const {
  std::vector<std::vector<const Node*>> groups;
  for (const std::vector<std::string>& names : proposed_) {
    if (names.front() != anchor.output()->name()) continue;
    std::vector<const Node*> nodes;
    for (const auto& node : anchor.region()->nodes())
      if (std::ranges::count(names, node->output()->name()) > 0) nodes.push_back(node.get());
    groups.push_back(std::move(nodes));
  }
  return groups;
}

TacticList TableBackend::tactics(const Node& node, const Target& target) const {
  TacticList list = offered(node, target, false);
  for (const auto& [kind, reason] : reasons_)
    if (kind == members_of(node)) list.reason = reason;
  return list;
}

TacticList TableBackend::more_tactics(const Node& node, const Target& target) const {
  return offered(node, target, true);
}

TacticList TableBackend::named_tactics(const Node& node, const Target& target) const {
  TacticList list = offered(node, target, false);
  std::ranges::move(offered(node, target, true).tactics, std::back_inserter(list.tactics));
  return list;
}

TacticList TableBackend::offered(const Node& node, const Target& target, bool later) const {
  TacticList list;
  for (const Rule& rule : rules_) {
    if (rule.kind != members_of(node) || rule.later != later) continue;
    if (rule.type && rule.type != node.output()->type.dtype()) continue;
    Tactic tactic = rule.tactic;
    Storage plain;
    plain.device = device_;
    tactic.inputs = storages_for(node, rule.inputs, node.inputs().size(), plain);
    tactic.outputs = storages_for(node, rule.outputs, node.outputs().size(), plain);
    tactic.strided_inputs.assign(tactic.inputs.size(), rule.strided ? AxisSet::all() : AxisSet());
    tactic.strided_outputs.assign(tactic.outputs.size(), rule.strided ? AxisSet::all() : AxisSet());
    bool taken =
        tactic.inputs.size() == node.inputs().size() && tactic.outputs.size() == node.outputs().size();
    for (std::size_t i = 0; taken && i < tactic.inputs.size(); ++i)
      taken = fits(node.input(i), tactic.inputs[i]);
    for (std::size_t i = 0; taken && i < tactic.outputs.size(); ++i)
      taken = fits(node.output(i), tactic.outputs[i]);
    taken = taken && (device_.is_host() || target.device.is_host() ||
                      device_of(*this, tactic, target) == target.device);
    if (taken) list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> TableBackend::prepare(const Node& node, const Tactic& tactic,
                                              std::span<const Tensor* const>, const Target& target) const {
  DefinedKernel::Options options{target.threads, queue_, Fault::none, launches_};
  options.between_gpus = std::ranges::any_of(tactic.inputs, [&](const Storage& storage) {
    return !storage.device.is_host() && !tactic.outputs.front().device.is_host() &&
           storage.device != tactic.outputs.front().device;
  });
  for (const Rule& rule : rules_)
    if (rule.kind == members_of(node) && rule.tactic.kernel == tactic.kernel &&
        rule.tactic.config == tactic.config)
      options.fault = rule.fault;
  return std::make_unique<DefinedKernel>(node, tactic, std::move(options));
}

} // namespace lanner::test
