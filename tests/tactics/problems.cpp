#include "tactics/problems.h"

#include <algorithm>
#include <iterator>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/backends.h"
#include "base/hash.h"
#include "graph/copy.h"
#include "graph/op.h"
#include "lower/check/trusted_kernels.h"
#include "ops/table/table.h"
#include "program/lowered/lowered.h"
#include "program/lowered/signature.h"
#include "program/program.h"

namespace lanner::sweep {
namespace {

/// The storage without its parent value, which does not exist when the problem is tested.
Storage by_itself(Storage storage) {
  storage.parent = nullptr;
  storage.offset = 0;
  return storage;
}

/// A graph of `node` alone. Reorders keep their storages, which define the problem; others have none yet.
std::unique_ptr<Graph> alone(const Node& node) {
  auto graph = std::make_unique<Graph>(node.region()->graph().ops(), "problem");
  NodeCopier copier(graph->body());
  std::set<const Value*> mapped;
  const bool reorder = node.kind() == "reorder";
  for (const Value* value : node.inputs()) {
    if (!value || !mapped.insert(value).second) continue;
    Value* input =
        value->constant() ? graph->constant(*value->constant()) : graph->add_input("", value->type);
    if (reorder) input->storage = by_itself(value->storage);
    copier.map(value, input);
  }
  Node* copy = copier.copy(node);
  for (std::size_t o = 0; o < copy->outputs().size(); ++o) {
    copy->output(o)->storage = reorder ? by_itself(node.output(o)->storage) : Storage{};
    if (!node.output(o)->unused()) graph->add_output(fmt::format("{}", o), copy->output(o));
  }
  return graph;
}

std::string kinds(const Node& node) {
  if (node.regions().empty()) return node.kind();
  std::vector<std::string> inner;
  for (const auto& one : node.regions().front()->nodes())
    if (one->kind() != "constant") inner.push_back(one->kind());
  return fmt::format("{}", fmt::join(inner, "+"));
}

/// Window, strides and similar attributes of the node or of the first node in its region.
std::string window_text(const Node& node) {
  const Node& anchor = node.regions().empty() || node.regions().front()->nodes().empty()
                           ? node
                           : *node.regions().front()->nodes().front();
  std::string text;
  for (const char* name : {"kernel_shape", "strides", "dilations", "pads"})
    if (const auto list = anchor.attributes.integers(name); !list.empty())
      text += fmt::format(" {} {}", name, fmt::join(list, "x"));
  if (const std::int64_t group = anchor.attributes.integer("group", 1); group != 1)
    text += fmt::format(" group {}", group);
  return text;
}

std::string short_words(const Node& node) {
  std::vector<std::string> inputs, outputs;
  for (const Value* value : node.inputs())
    if (value) inputs.push_back(value->type.to_string() + (value->constant() ? " constant" : ""));
  for (const auto& value : node.outputs()) outputs.push_back(value->type.to_string());
  std::string text = fmt::format("{}({}) -> {}{}", kinds(node), fmt::join(inputs, ", "),
                                 fmt::join(outputs, ", "), window_text(node));
  if (node.kind() == "reorder")
    text += fmt::format(" {} -> {}", node.input(0)->storage.to_string(), node.output()->storage.to_string());
  return text;
}

std::string hashed(const std::string& text) {
  return hash_hex(std::as_bytes(std::span(text)));
}

/// Whether lowering could use it: never in place in a constant, in memory of another size, or in one read
/// twice.
bool possible(const Node& node, const Tactic& tactic) {
  if (!tactic.required_in_place) return true;
  const auto i = static_cast<std::size_t>(tactic.in_place);
  const Value* value = node.input(i);
  return value && !value->constant() && std::ranges::count(node.inputs(), value) == 1 &&
         storage_bytes(*value, tactic.inputs.at(i)) == storage_bytes(*node.output(), tactic.outputs.at(0));
}

/// Whether a reorder's tactic has its storages.
bool fits(const Node& node, const Tactic& tactic) {
  return node.kind() != "reorder" ||
         (same_storage(node.input(0)->type, tactic.inputs.at(0), node.input(0)->storage) &&
          same_storage(node.output()->type, tactic.outputs.at(0), node.output()->storage));
}

/// Different storages of one value, in order of appearance.
using Storages = std::vector<Storage>;

void add_storage(Storages& list, const Type& type, const Storage& storage) {
  if (std::ranges::none_of(list, [&](const Storage& one) { return same_storage(type, one, storage); }))
    list.push_back(storage);
}

} // namespace

Problem& Problems::place(const Node& node, const Origin& origin) {
  auto graph = alone(node);
  const Node* copy = graph->body().nodes().back().get();
  const std::string key = hashed(signature(*copy) + origin.precision);
  Problem*& known = by_key_[key];
  if (!known) {
    auto made = std::make_unique<Problem>();
    made->key = key;
    made->text = short_words(*copy);
    made->precision = origin.precision;
    made->graph = std::move(graph);
    made->node = copy;
    known = made.get();
    problems_.push_back(std::move(made));
  }
  known->networks.insert(origin.network);
  ++known->uses;
  return *known;
}

void Problems::add(const Graph& graph, const std::vector<Proposal>& proposals, const Origin& origin) {
  for (const Proposal& proposal : proposals) {
    std::vector<const Backend*> backends;
    for (const Alternative& one : proposal.list)
      if (one.backend && !is_definition(*one.backend) && std::ranges::count(backends, one.backend) == 0)
        backends.push_back(one.backend);
    if (!backends.empty()) place(*proposal.node, origin).backends = std::move(backends);
  }
  add_reorders(graph, proposals, origin);
}

void Problems::add(const Node& node, std::vector<Offer> offers, const Origin& origin) {
  if (offers.empty()) return;
  std::vector<Offer>& known = place(node, origin).offers;
  for (Offer& offer : offers)
    for (std::vector<Storage>* storages : {&offer.tactic.inputs, &offer.tactic.outputs})
      for (Storage& storage : *storages) storage = by_itself(std::move(storage));
  std::ranges::move(offers, std::back_inserter(known));
}

void Problems::add_reorders(const Graph& graph, const std::vector<Proposal>& proposals,
                            const Origin& origin) {
  std::map<const Value*, Storages> written, read;
  for (const auto& parameter : graph.body().parameters())
    written[parameter.get()] = {origin.target.storage()};
  for (const Proposal& proposal : proposals)
    for (const Alternative& one : proposal.list) {
      for (std::size_t o = 0; o < proposal.outputs.size(); ++o)
        add_storage(written[proposal.outputs[o]], proposal.outputs[o]->type,
                    proposal.output_storage(one.tactic, o));
      for (std::size_t i = 0; i < proposal.inputs.size(); ++i)
        if (const Value* value = proposal.inputs[i]; value && !value->constant())
          add_storage(read[value], value->type, proposal.input_storage(one.tactic, i));
    }
  for (const Value* value : graph.body().outputs())
    add_storage(read[value], value->type, origin.target.storage());
  for (const auto& [value, storages] : read)
    for (const Storage& from : written[value])
      for (const Storage& to : storages) add_reorder(*value, from, to, origin);
}

void Problems::add_reorder(const Value& value, const Storage& from, const Storage& to, const Origin& origin) {
  if (!is_planned(value) || same_storage(value.type, from, to)) return;
  if (const Storage middle = staging(value.type, from, to);
      !same_storage(value.type, middle, from) && !same_storage(value.type, middle, to)) {
    add_reorder(value, from, middle, origin);
    add_reorder(value, middle, to, origin);
    return;
  }
  const Form begin = lowered_form(value.type, from), end = lowered_form(value.type, to);
  if (begin.type == end.type) return add_conversion("reorder", begin, end, origin);
  add_conversion("cast", begin, {end.type, begin.storage}, origin);
  add_conversion("cast", {begin.type, end.storage}, end, origin);
  if (same_storage(value.type, begin.storage, end.storage)) return;
  add_conversion("reorder", begin, {begin.type, end.storage}, origin);
  add_conversion("reorder", {end.type, begin.storage}, end, origin);
}

void Problems::add_conversion(std::string_view kind, const Form& from, const Form& to, const Origin& origin) {
  const auto graph = conversion_graph(builtin_op_table(), kind, from, to);
  Problem& problem = place(*graph->body().nodes().back(), origin);
  if (!problem.backends.empty()) return;
  for (const Backend* backend : backends_for(origin.target))
    if (!is_definition(*backend)) problem.backends.push_back(backend);
}

std::vector<const Problem*> Problems::sorted() const {
  std::vector<const Problem*> list;
  for (const auto& problem : problems_) list.push_back(problem.get());
  std::ranges::stable_sort(list, std::ranges::greater{}, &Problem::uses);
  return list;
}

std::vector<Offer> offers_of(const Problem& problem, const Target& target) {
  if (!problem.offers.empty()) return problem.offers;
  std::vector<Offer> list;
  for (const Backend* backend : problem.backends)
    for (const bool more : {false, true})
      for (Tactic& tactic : reachable_tactics(*backend, *problem.node, target, more).tactics)
        if (possible(*problem.node, tactic) && fits(*problem.node, tactic))
          list.push_back({backend, std::move(tactic)});
  return list;
}

} // namespace lanner::sweep
