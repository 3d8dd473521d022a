#include "graph/infer.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "base/limits/account.h"
#include "graph/failing.h"
#include "graph/graph_bytes.h"
#include "graph/known.h"
#include "graph/known_results.h"
#include "graph/type/dim_terms.h"
#include "graph/type/item_type.h"
#include "graph/type/merge_types.h"
#include "graph/type/used_symbols.h"

namespace lanner {

namespace {

struct Fact {
  Type type;
  Known known;
};

/// Sizes computed from sizes can grow from node to node. A longer expression is replaced by a new symbol: no
/// user reads more of it, and further computation stays far from the limits of an expression.
constexpr std::uint32_t longest_size = 128, deepest_size = 24;
constexpr const char* long_size = "computed"; ///< Prefix of the names of such symbols.

bool is_longer(const Dim& dim, std::uint32_t size, std::uint32_t depth) {
  const Dim::Terms* normal = DimAccess::normal(dim);
  return normal && (normal->size > size || normal->depth > depth) && !dim.as_symbol();
}

struct DimOrder {
  bool operator()(const Dim& a, const Dim& b) const { return compare(a, b) < 0; }
};

/// Inputs of a node whose facts are replaced for one inference.
using OtherFacts = std::map<std::size_t, Fact>;

// One pass over a graph, or over one node with concrete inputs. Facts are stored outside the graph, so that a
// node can be inferred for shapes other than its own.
class Flow {
public:
  /// Null: concrete inputs; declared types are ignored and new symbols belong to no graph.
  explicit Flow(Graph* graph, bool keeps_types = true) : graph_(graph), keeps_types_(keeps_types) {}

  void set(const Value* value, Fact fact);
  const Fact& fact(const Value* value) const;
  const Fact* find(const Value* value) const;
  void visit(const Region& region);
  void visit(const Node& node);
  void visit_unnamed(const Node& node);
  std::vector<Type> infer_region(const Node& node, std::size_t r, std::span<const Type> parameters);
  Dim fresh(const Node& node, std::string_view hint, const Dim& upper, std::set<std::string>& taken);
  void write_types(Region& region) const;
  void write_types(Node& node) const;
  void close_failed(Node& node) const;
  void drop_unused_symbols();
  template<typename Visit>
  void each(const Visit& visit) const {
    for (const auto& [value, fact] : facts_) visit(value, fact.known);
  }

private:
  bool merges(const Node& node) const { return graph_ && keeps_types_ && !node.region()->owner(); }
  void infer(const Node& node, const OtherFacts& others);
  void settle(const Node& node, const std::vector<std::optional<Type>>& found, std::vector<Known>& known);
  Dim long_size_symbol(const Dim& dim, const Dim& before);
  Dim shortened(const Dim& dim, const Dim& before);
  Type shortened(const Type& type, const Type& before);
  void shorten(Known& known);
  OtherFacts with_short_sizes(const Node& node);
  std::vector<const Known*> known_inputs(const Node& node) const;

  Charge charge_{current_account()}; ///< Memory of the facts.
  Graph* graph_;
  bool keeps_types_; ///< Declared types of outputs are merged with inferred ones.
  std::unordered_map<const Value*, Fact> facts_;
  std::set<std::string> fresh_;
  std::map<Dim, Dim, DimOrder> long_size_symbols_; ///< Symbols of long sizes.
  std::set<std::string> given_;                    ///< Symbols in use for a long size.
  std::map<const Region*, std::string> failed_;    ///< Regions whose last visit failed, and why.
  std::size_t next_ = 0;
};

class FlowContext : public InferContext {
public:
  FlowContext(Flow& flow, const Node& node, const OtherFacts& others)
      : types(node.outputs().size()), knowledge(node.outputs().size()), flow_(flow), node_(node),
        others_(others) {}

  const Node& node() const override { return node_; }
  std::size_t inputs() const override { return node_.own_inputs().size(); }
  bool has(std::size_t i) const override { return i < inputs() && node_.input(i); }
  const Type& input(std::size_t i) const override { return fact(i).type; }
  const Known& known(std::size_t i) const override {
    static const Known nothing;
    return has(i) ? fact(i).known : nothing;
  }
  std::size_t outputs() const override { return node_.outputs().size(); }
  void set_output(std::size_t i, Type type) override {
    if (i < types.size()) types[i] = std::move(type);
  }
  void set_known(std::size_t i, Known known) override {
    if (i < knowledge.size()) knowledge[i] = std::move(known);
  }
  Dim fresh(std::string_view hint, const Dim& upper) override {
    return flow_.fresh(node_, hint, upper, symbols_);
  }
  std::vector<Type> infer_region(std::size_t r, std::span<const Type> parameters) override {
    return flow_.infer_region(node_, r, parameters);
  }

  std::vector<std::optional<Type>> types;
  std::vector<Known> knowledge;

private:
  const Fact& fact(std::size_t i) const {
    check(has(i), ErrorCode::invalid_argument, "{}: input {} is missing", node_.kind(), i);
    const auto other = others_.find(i);
    return other == others_.end() ? flow_.fact(node_.input(i)) : other->second;
  }

  Flow& flow_;
  const Node& node_;
  const OtherFacts& others_;
  std::set<std::string> symbols_;
};

std::uint64_t bytes_of(const Fact& fact) {
  return type_bytes(fact.type) + (fact.known.elements ? fact.known.elements->size() * sizeof(Dim) : 0);
}

void Flow::set(const Value* value, Fact fact) {
  constexpr std::uint64_t around =
      sizeof(std::pair<const Value* const, Fact>) + 2 * sizeof(void*) + allocation_bytes;
  const auto known = facts_.find(value);
  const bool fresh = known == facts_.end();
  const std::uint64_t before = fresh ? 0 : bytes_of(known->second),
                      now = bytes_of(fact) + (fresh ? around : 0);
  if (charge_.counts()) charge_.set(charge_.bytes() - before + now);
  if (fresh)
    facts_.emplace(value, std::move(fact));
  else
    known->second = std::move(fact);
}

const Fact* Flow::find(const Value* value) const {
  const auto found = facts_.find(value);
  return found == facts_.end() ? nullptr : &found->second;
}

const Fact& Flow::fact(const Value* value) const {
  const Fact* found = find(value);
  if (!found) fail(ErrorCode::internal, "inference: %{} is used before it is defined", value->name());
  return *found;
}

void Flow::visit(const Region& region) {
  for (const auto& node : region.nodes()) visit(*node);
}

void Flow::visit(const Node& node) {
  check_deadline();
  with_context([&] { return "node " + node.label(); }, [&] { visit_unnamed(node); });
}

/// Code after inference relies on the presence of inputs that an operator requires: its first ones, and all
/// of a list.
void require_inputs(const Node& node) {
  const OpDef& op = node.op();
  const bool list = op.max_inputs == OpDef::any && op.min_inputs > 0;
  for (std::size_t i = 0; i < node.own_inputs().size(); ++i)
    check(node.input(i) || (!list && i >= static_cast<std::size_t>(std::max(op.min_inputs, 0))),
          ErrorCode::invalid_argument, "{}: input {} is missing", node.kind(), i);
}

void Flow::visit_unnamed(const Node& node) {
  require_inputs(node);
  try {
    infer(node, {});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit_exceeded || !node.regions().empty()) throw;
    const OtherFacts others = with_short_sizes(node);
    if (others.empty()) throw;
    infer(node, others);
  }
}

void Flow::infer(const Node& node, const OtherFacts& others) {
  FlowContext context(*this, node, others);
  check_operands(context);
  node.op().infer(context);
  settle(node, context.types, context.knowledge);
}

void check_sizes(const Type& type, std::string_view kind) {
  check_rank(type.rank(), kind);
  for (const Dim& dim : type.dims())
    check(!dim.is_constant() || dim.value() >= 0, ErrorCode::invalid_argument,
          "{}: the result would be {}, expected no size below 0", kind, type.to_string());
}

void Flow::settle(const Node& node, const std::vector<std::optional<Type>>& found,
                  std::vector<Known>& known) {
  std::vector<Type> types;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) fail(ErrorCode::internal, "{}: inference left output {} without a type", node.kind(), i);
    if (found[i]->is_tensor() && found[i]->ranked()) check_sizes(*found[i], node.kind());
    const Type type = shortened(*found[i], node.output(i)->type);
    types.push_back(merges(node) ? merge_types(type, node.output(i)->type, graph_->symbols, fresh_) : type);
    known[i] = completed(std::move(known[i]), types.back());
  }
  add_known_results(node, known_inputs(node), types, known);
  for (std::size_t i = 0; i < types.size(); ++i) {
    shorten(known[i]);
    set(node.output(i), {std::move(types[i]), std::move(known[i])});
  }
}

/// For each input; null: absent.
std::vector<const Known*> Flow::known_inputs(const Node& node) const {
  static const Known nothing;
  std::vector<const Known*> inputs;
  for (const Value* input : node.inputs()) {
    const Fact* fact = input ? find(input) : nullptr;
    inputs.push_back(fact ? &fact->known : input ? &nothing : nullptr);
  }
  return inputs;
}

/// `dim`, or the symbol that replaces an expression that is too long, everywhere. `before` is the result of
/// the last inference for this dim.
Dim Flow::shortened(const Dim& dim, const Dim& before) {
  if (!is_longer(dim, longest_size, deepest_size)) return dim;
  if (const auto known = long_size_symbols_.find(dim); known != long_size_symbols_.end())
    return known->second;
  return long_size_symbols_.emplace(dim, long_size_symbol(dim, before)).first->second;
}

Dim Flow::long_size_symbol(const Dim& dim, const Dim& before) {
  if (!graph_) return Dim::symbol(fmt::format("run.{}", next_++));
  SymbolInfo range = dim.bounds(graph_->symbols);
  range = {std::max<std::int64_t>(range.min, 0), std::max<std::int64_t>(range.max, 0), -1};
  if (range.min == range.max) return Dim(range.min);
  const auto name = before.as_symbol();
  if (name && name->starts_with(long_size) && graph_->symbols.contains(*name) && given_.insert(*name).second)
    return before;
  const Dim made = graph_->fresh_symbol(long_size, range.max);
  fresh_.insert(*made.as_symbol());
  given_.insert(*made.as_symbol());
  graph_->symbols.at(*made.as_symbol()).min = range.min;
  return made;
}

Type Flow::shortened(const Type& type, const Type& before) {
  if (!type.is_tensor() || !type.ranked()) return type;
  const bool comparable = before.is_tensor() && before.ranked() && before.rank() == type.rank();
  Dims dims = type.dims();
  for (std::size_t d = 0; d < dims.size(); ++d)
    dims[d] = shortened(dims[d], comparable ? before.dims()[d] : Dim());
  return type.with_dims(std::move(dims));
}

/// A symbol is a size, and sizes are at least 0: an element that may be negative becomes unknown.
void Flow::shorten(Known& known) {
  if (!known.elements || known.tensor) return;
  for (Dim& element : *known.elements) {
    if (!is_longer(element, longest_size, deepest_size)) continue;
    if (element.bounds(graph_ ? graph_->symbols : Symbols{}).min < 0) return known.elements.reset();
    element = shortened(element, {});
  }
}

/// The inputs of a node with a symbol for each computed size, for a node whose result would otherwise be too
/// long an expression.
OtherFacts Flow::with_short_sizes(const Node& node) {
  OtherFacts others;
  for (std::size_t i = 0; i < node.own_inputs().size(); ++i) {
    const Fact* fact = node.input(i) ? find(node.input(i)) : nullptr;
    if (!fact || !fact->type.is_tensor()) continue;
    Fact other = *fact;
    bool changed = other.known.elements && !other.known.tensor;
    if (changed) other.known.elements.reset();
    Dims dims = other.type.ranked() ? other.type.dims() : Dims{};
    for (Dim& dim : dims) {
      if (dim.is_constant() || dim.as_symbol()) continue;
      dim = long_size_symbol(dim, {});
      changed = true;
    }
    if (!changed) continue;
    if (other.type.ranked()) other.type = other.type.with_dims(std::move(dims));
    others.emplace(i, std::move(other));
  }
  return others;
}

std::vector<Type> Flow::infer_region(const Node& node, std::size_t r, std::span<const Type> parameters) {
  check(r < node.regions().size(), ErrorCode::invalid_argument, "{}: region {} is missing", node.kind(), r);
  const Region& region = *node.regions()[r];
  const std::size_t own = region.parameters().size() - node.captures();
  check(parameters.size() == own, ErrorCode::invalid_argument, "{}: region {} has {} parameters, expected {}",
        node.kind(), r, own, parameters.size());
  for (std::size_t i = 0; i < own; ++i) set(region.parameter(i), {parameters[i], {}});
  for (std::size_t i = 0; i < node.captures(); ++i)
    set(region.parameter(own + i), Fact(fact(node.inputs()[node.own_inputs().size() + i])));
  failed_.erase(&region);
  try {
    visit(region);
  } catch (const Error& error) {
    failed_[&region] = error.message();
    throw;
  }
  // The outputs of one that failed while the graph was being made are not known yet.
  if (const Node* failing = failing_node(region);
      failing && failing->outputs().size() != node.outputs().size())
    failed_[&region] = failing->attributes.get<std::string>("why");
  std::vector<Type> types;
  for (const Value* output : region.outputs()) types.push_back(fact(output).type);
  return types;
}

// Inference runs many times over one graph; a data-dependent size keeps its symbol from one run to the next.
Dim Flow::fresh(const Node& node, std::string_view hint, const Dim& upper, std::set<std::string>& taken) {
  if (!graph_) return Dim::symbol(fmt::format("run.{}", next_++));
  const std::int64_t bound = upper.bounds(graph_->symbols).max;
  std::set<std::string> from_inputs, from_outputs;
  for (const Value* input : node.inputs()) {
    if (!input) continue;
    const Fact& given = fact(input);
    collect_symbols(given.type, from_inputs);
    for (const Dim& element : given.known.elements.value_or(Dims{})) element.collect_symbols(from_inputs);
  }
  for (const auto& output : node.outputs()) collect_symbols(output->type, from_outputs);
  for (const std::string& name : from_outputs) {
    const auto known = graph_->symbols.find(name);
    if (!name.starts_with(hint) || from_inputs.contains(name) || taken.contains(name) ||
        known == graph_->symbols.end())
      continue;
    taken.insert(name);
    known->second.max = std::min(known->second.max, bound);
    return Dim::symbol(name);
  }
  Dim made = graph_->fresh_symbol(hint, bound);
  taken.insert(*made.as_symbol());
  fresh_.insert(*made.as_symbol());
  return made;
}

void Flow::write_types(Region& region) const {
  for (const auto& parameter : region.parameters()) {
    if (const Fact* known = find(parameter.get())) parameter->type = known->type;
  }
  for (const auto& node : region.nodes()) write_types(*node);
}

void Flow::write_types(Node& node) const {
  for (const auto& output : node.outputs()) {
    if (const Fact* known = find(output.get())) output->type = known->type;
  }
  node.recount();
  for (const auto& inner : node.regions()) write_types(*inner);
}

/// Regions that failed although their node did not are branches that do not fit these sizes: they are made to
/// fail when they are entered.
void Flow::close_failed(Node& node) const {
  for (const auto& region : node.regions()) {
    const auto failed = failed_.find(region.get());
    if (failed == failed_.end()) {
      for (const auto& inner : region->nodes()) close_failed(*inner);
      continue;
    }
    std::vector<Type> types;
    for (const auto& output : node.outputs()) types.push_back(output->type);
    make_failing(*region, failed->second, types);
  }
}

void Flow::drop_unused_symbols() {
  if (fresh_.empty()) return;
  std::set<std::string> used;
  collect_symbols(graph_->body(), used);
  for (const std::string& name : fresh_) {
    if (!used.contains(name)) graph_->symbols.erase(name);
  }
}

Flow flow_over(Graph& graph) {
  Flow flow(&graph);
  for (const auto& parameter : graph.body().parameters()) flow.set(parameter.get(), {parameter->type, {}});
  flow.visit(graph.body());
  return flow;
}

} // namespace

void infer_types(Graph& graph) {
  const AddedInference once(graph);
}

std::vector<Type> infer_node(const Node& node, std::span<const Item* const> inputs) {
  check(inputs.size() == node.inputs().size(), ErrorCode::internal,
        "inference: {} items for {} inputs of node {}", inputs.size(), node.inputs().size(), node.label());
  Flow flow(nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value* value = node.input(i);
    if (!value || !inputs[i]) continue;
    const bool plain = !inputs[i]->is_sequence() && !inputs[i]->absent;
    flow.set(value, {type_of(*inputs[i], value->type), plain ? known_tensor(inputs[i]->tensor) : Known{}});
  }
  flow.visit(node);
  std::vector<Type> types;
  for (const auto& output : node.outputs()) types.push_back(flow.fact(output.get()).type);
  return types;
}

bool types_follow(const Node& node) {
  Flow flow(nullptr);
  for (const Value* value : node.inputs()) {
    if (!value) continue;
    const Tensor* constant = value->constant();
    flow.set(value, {value->type, constant ? known_tensor(*constant) : Known{}});
  }
  flow.visit(node);
  return std::ranges::all_of(
      node.outputs(), [&](const auto& output) { return flow.fact(output.get()).type == output->type; });
}

struct RunningInference::State {
  Flow flow;
};

RunningInference::RunningInference(Graph& graph) : state_(new State{Flow(&graph, false)}) {}
RunningInference::~RunningInference() = default;

void RunningInference::declare(const Value& parameter) {
  state_->flow.set(&parameter, {parameter.type, {}});
}

void RunningInference::add(Node& node) {
  state_->flow.visit_unnamed(node);
  state_->flow.write_types(node);
  state_->flow.close_failed(node);
}

const Known& RunningInference::known(const Value* value) const {
  return state_->flow.fact(value).known;
}

struct AddedInference::State {
  Graph& graph;
  Flow flow;
};

AddedInference::AddedInference(Graph& graph) : state_(new State{graph, flow_over(graph)}) {
  state_->flow.write_types(graph.body());
  for (const auto& node : graph.body().nodes()) state_->flow.close_failed(*node);
  state_->flow.drop_unused_symbols();
  graph.recount();
}

AddedInference::~AddedInference() = default;

void AddedInference::add(std::span<Node* const> nodes) {
  for (Node* node : nodes) {
    state_->flow.visit(*node);
    state_->flow.write_types(*node);
    state_->flow.close_failed(*node);
  }
}

KnownValues::KnownValues(Graph& graph) {
  const Flow flow = flow_over(graph);
  flow.each([&](const Value* value, const Known& known) {
    if (known.tensor || known.elements) known_.emplace(value, known);
  });
}

KnownValues::~KnownValues() = default;

const Known& KnownValues::of(const Value* value) const {
  static const Known nothing;
  const auto found = known_.find(value);
  return found == known_.end() ? nothing : found->second;
}

} // namespace lanner
