#include "program/weights/weights.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "graph/op.h"
#include "graph/storage/quantization.h"
#include "graph/text/text.h"
#include "ops/definition/stored_reals.h"
#include "ops/interpreter/folding.h"
#include "tensor/content_hash.h"

namespace lanner {
namespace {

/// Key of a form in this storage, on any device; constant scales are identified by content.
std::string form_key(const Storage& storage, DType type) {
  Storage form = of_type(storage.dtype.value_or(type));
  form.layout = storage.layout;
  form.quantization = storage.quantization;
  return form.to_string(
      [](const Value& value) { return fmt::format("#{:x}", content_hash(ops::stored_constant(value))); });
}

std::string form_key(const Tensor& tensor) {
  Storage form;
  form.layout = tensor.layout();
  return form_key(form, tensor.dtype());
}

bool all_finite(const Tensor& tensor) {
  if (!is_float(tensor.dtype()) || bit_width(tensor.dtype()) < 16) return true;
  const Tensor wide = pack(tensor, of_type(DType::f64));
  return std::ranges::all_of(wide.as<double>(), [](double number) { return std::isfinite(number); });
}

Tensor checked_source(const std::string& name, const Type& type, const WeightFinder& find) {
  const Tensor found = find(name);
  check(found.defined(), ErrorCode::not_found, "weight '{}' is missing", name);
  check(Type(found.dtype(), found.shape()) == type, ErrorCode::invalid_argument,
        "weight '{}': expected {}, got {}", name, type.to_string(),
        Type(found.dtype(), found.shape()).to_string());
  return pack(found, of_type(found.dtype()));
}

/// Folds nodes of constant inputs one by one, as passes do.
void fold_all(Region& body) {
  std::vector<Node*> nodes;
  for (const auto& node : body.nodes())
    if (!is_constant(*node)) nodes.push_back(node.get());
  for (Node* node : nodes) {
    const auto results = ops::folded_results(*node);
    if (!results) continue;
    for (std::size_t i = 0; i < results->size(); ++i)
      if (const Tensor& tensor = (*results)[i].tensor; tensor.defined())
        node->output(i)->replace_all_uses(body.graph().constant(tensor, node->output(i)->name(), node));
  }
}

/// Substitutes the source weights for a recipe's inputs and folds the graph.
Tensor folded(const Recipe& recipe, const OpTable& ops, const WeightFinder& find, const Limits& limits) {
  const std::unique_ptr<Graph> graph = parse_graph(recipe.expression, ops, {}, limits);
  Region& body = graph->body();
  check(body.outputs().size() == 1, ErrorCode::unsupported,
        "weights {} were combined in a way that the plan does not record: build it again from its model",
        [&] {
          std::string names;
          for (const auto& parameter : body.parameters())
            names += (names.empty() ? "" : ", ") + parameter->name();
          return names;
        }());
  bool finite = true;
  for (const auto& parameter : body.parameters()) {
    Node* first = body.nodes().empty() ? nullptr : body.nodes().front().get();
    const Tensor source = checked_source(parameter->name(), parameter->type, find);
    finite = finite && all_finite(source);
    parameter->replace_all_uses(graph->constant(source, parameter->name(), first));
  }
  fold_all(body);
  const Tensor* value = body.outputs()[0]->constant();
  check(value != nullptr, ErrorCode::bad_data, "the recipe of a constant cannot be computed");
  check(!finite || all_finite(*value), ErrorCode::invalid_argument,
        "numbers become infinite where weight '{}' was folded: build it again from its model",
        body.parameters().empty() ? "" : body.parameter(0)->name());
  return *value;
}

} // namespace

void for_each_constant(const Region& region, const std::function<void(Node&)>& visit) {
  for (const auto& node : region.nodes()) {
    check_deadline();
    for (const auto& inner : node->regions()) for_each_constant(*inner, visit);
    if (is_constant(*node)) visit(*node);
  }
}

Tensor value_of(const Recipe& recipe, const Type& type, const OpTable& ops, const WeightFinder& find,
                const Limits& limits) {
  if (!recipe.weight.empty()) return checked_source(recipe.weight, type, find);
  const Tensor value = folded(recipe, ops, find, limits);
  check(Type(value.dtype(), value.shape()) == type, ErrorCode::bad_data,
        "the recipe of a constant gives {}, expected {}", Type(value.dtype(), value.shape()).to_string(),
        type.to_string());
  return value;
}

WeightStore::Memory WeightStore::memory_of(const Tensor& tensor) {
  return {tensor.data(), form_key(tensor) + tensor.shape().to_string()};
}

void WeightStore::take(Entry& entry, const std::string& key, const Tensor& form, const EntryPtr& shared) {
  entry.forms.emplace(key, form);
  by_memory_[memory_of(form)] = shared;
}

WeightStore::EntryPtr WeightStore::insert(Recipe recipe, const Tensor& value) {
  // Two weights may share bytes of a file, but each may be refitted on its own.
  const Tensor own = by_memory_.contains(memory_of(value)) ? value.clone() : value;
  auto entry = std::make_shared<Entry>();
  entry->constant = std::make_shared<const StoredConstant>(StoredConstant{recipe, own});
  take(*entry, form_key(own), own, entry);
  if (!recipe.literal()) by_recipe_[std::move(recipe)] = entry;
  return entry;
}

WeightStore::EntryPtr WeightStore::entry_of(const Tensor& constant) {
  const auto found = by_memory_.find(memory_of(constant));
  return found == by_memory_.end() ? insert({}, constant) : found->second;
}

Tensor WeightStore::form_of(const EntryPtr& entry, const Storage& storage) {
  const Tensor& value = entry->constant->value;
  const std::string key = form_key(storage, value.dtype());
  const auto found = entry->forms.find(key);
  const Tensor form = found == entry->forms.end() ? pack(value, storage, arena_) : found->second;
  take(*entry, key, form, entry);
  return form;
}

Tensor WeightStore::get(const Tensor& constant, const Storage& storage) {
  const std::lock_guard lock(mutex_);
  const EntryPtr entry = entry_of(constant);
  Storage wanted = storage;
  wanted.dtype = storage.dtype.value_or(constant.dtype());
  return form_of(entry, wanted);
}

Tensor WeightStore::get(const Recipe& recipe, const Storage& storage) {
  const std::lock_guard lock(mutex_);
  const EntryPtr entry = by_recipe_.at(recipe);
  return form_of(entry, storage);
}

void WeightStore::learn_one(Node& node) {
  Recipe recipe = recipe_of(node);
  const Tensor tensor = *node.output()->constant();
  if (recipe.literal() || tensor.dtype() == DType::string) return;
  if (const auto found = by_recipe_.find(recipe); found != by_recipe_.end()) {
    const EntryPtr entry = found->second;
    if (!(entry->constant->type() == Type(tensor.dtype(), tensor.shape()))) return;
    const auto same = entry->forms.find(form_key(tensor));
    if (same == entry->forms.end())
      take(*entry, form_key(tensor), tensor, entry);
    else if (same->second.data() != tensor.data())
      node.attributes.set("value", same->second);
    return;
  }
  const Tensor& own = insert(std::move(recipe), tensor)->constant->value;
  if (own.data() != tensor.data()) node.attributes.set("value", own);
}

void WeightStore::learn(Graph& graph) {
  const std::lock_guard lock(mutex_);
  for_each_constant(graph.body(), [&](Node& node) { learn_one(node); });
}

Tensor WeightStore::add(const Recipe& recipe, const Tensor& value) {
  const std::lock_guard lock(mutex_);
  const auto found = recipe.literal() ? by_recipe_.end() : by_recipe_.find(recipe);
  return (found == by_recipe_.end() ? insert(recipe, value) : found->second)->constant->value;
}

std::shared_ptr<const StoredConstant> WeightStore::find(const Tensor& form) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_memory_.find(memory_of(form));
  return found == by_memory_.end() ? nullptr : found->second->constant;
}

std::vector<std::shared_ptr<const StoredConstant>> WeightStore::of_weights() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const StoredConstant>> all;
  for (const auto& [recipe, entry] : by_recipe_) all.push_back(entry->constant);
  return all;
}

std::uint64_t WeightStore::bytes() const {
  const std::lock_guard lock(mutex_);
  std::set<const Entry*> seen;
  std::uint64_t bytes = 0;
  for (const auto& [memory, entry] : by_memory_)
    if (seen.insert(entry.get()).second) bytes += entry->constant->value.bytes();
  return bytes;
}

Tensor WeightStore::value(const Recipe& recipe) const {
  const std::lock_guard lock(mutex_);
  const auto found = recipe.lost() ? by_recipe_.end() : by_recipe_.find(recipe);
  if (found == by_recipe_.end()) return {};
  const Tensor& value = found->second->constant->value;
  return pack(value, of_type(value.dtype()));
}

std::unique_ptr<WeightStore>
WeightStore::without(const std::function<bool(const StoredConstant&)>& changed) const {
  const std::lock_guard lock(mutex_);
  auto store = std::make_unique<WeightStore>();
  std::map<const Entry*, EntryPtr> copies;
  for (const auto& [memory, entry] : by_memory_) {
    if (changed(*entry->constant)) continue;
    EntryPtr& copy = copies[entry.get()];
    if (!copy) copy = std::make_shared<Entry>(*entry);
    store->by_memory_[memory] = copy;
    if (!entry->constant->recipe.literal()) store->by_recipe_[entry->constant->recipe] = copy;
  }
  store->devices_ =
      devices_->with_copies([&](const Tensor& form) { return store->by_memory_.contains(memory_of(form)); });
  return store;
}

} // namespace lanner
