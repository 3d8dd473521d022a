#include "lower/propose/row_sets.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/limits/account.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "lower/propose/row_rules.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

/// Block sizes, in rows, for up to `most` rows, in geometric progression: the remainder of larger blocks goes
/// to smaller ones. Each block reads all weights, so large ones pay, up to 128 rows.
std::vector<std::int64_t> block_sizes(std::int64_t most) {
  constexpr int steps = 4;
  const std::int64_t largest = std::clamp<std::int64_t>(most, steps + 1, 128);
  const double factor = std::pow(static_cast<double>(largest), 1.0 / steps);
  std::vector<std::int64_t> sizes{1};
  for (int step = 1; step <= steps; ++step)
    sizes.push_back(std::max<std::int64_t>(sizes.back() + 1, std::llround(std::pow(factor, step))));
  return sizes;
}

using Set = std::vector<Node*>;

/// Finds convex sets, which no path leaves and re-enters. Every node has a phase, which grows where a path
/// leaves a set: connected nodes of the same row count and phase can be one node.
class Finder {
public:
  explicit Finder(Device device) : device_(device) {}

  std::vector<Set> find(const Graph& graph) {
    for (const auto& node : graph.body().nodes()) visit(*node);
    std::map<std::size_t, Set> sets;
    for (Node* node : members_) sets[root(facts_.at(node).set)].push_back(node);
    std::vector<Set> heavy;
    for (auto& [number, set] : sets)
      if (std::ranges::any_of(set, [](const Node* node) { return is_heavy(*node); }))
        heavy.push_back(std::move(set));
    return heavy;
  }

private:
  struct Fact {
    std::optional<Dim> count; ///< Of a node that works by rows.
    std::size_t phase = 0, set = 0;
  };

  void visit(Node& node) {
    check_deadline();
    Fact fact{works_by_rows(node, device_), 0, parents_.size()};
    for (const Value* input : node.inputs()) {
      const Fact* from = input && input->producer() ? &facts_.at(input->producer()) : nullptr;
      if (!from) continue;
      const bool leaves = from->count && !(fact.count && *fact.count == *from->count);
      fact.phase = std::max(fact.phase, from->phase + (leaves ? 1 : 0));
    }
    facts_[&node] = fact;
    if (!fact.count) return;
    parents_.push_back(fact.set);
    members_.push_back(&node);
    for (const Value* input : node.inputs()) {
      const Fact* from = input && input->producer() ? &facts_.at(input->producer()) : nullptr;
      if (from && from->count && *from->count == *fact.count && from->phase == fact.phase)
        parents_[root(from->set)] = root(fact.set);
    }
  }

  std::size_t root(std::size_t set) const {
    while (parents_[set] != set) set = parents_[set];
    return set;
  }

  const Device device_;
  std::map<const Node*, Fact> facts_;
  std::vector<std::size_t> parents_;
  std::vector<Node*> members_;
};

/// Replaces a set by one node.
class Wrapping {
public:
  Wrapping(Graph& graph, const Set& set) : graph_(graph), set_(set), members_(set.begin(), set.end()) {}

  void run() {
    collect_values();
    Node* last = set_.back();
    Node* wrapped = last->region()->create(graph_.ops().get("row_blocks"), inputs_, last);
    wrapped->attributes.set("counted", static_cast<std::int64_t>(counted_));
    const Dim count = *row_count(*set_.front()->output());
    const std::vector<std::int64_t> sizes = block_sizes(count.bounds(graph_.symbols).max);
    wrapped->attributes.set("sizes", sizes);
    for (const std::int64_t size : sizes) add_region(*wrapped, size);
    for (const Node* node : set_)
      wrapped->sources.insert(wrapped->sources.end(), node->sources.begin(), node->sources.end());
    move_readers_behind(*wrapped);
    std::vector<std::pair<Value*, std::string>> made;
    for (Value* output : outputs_) {
      made.emplace_back(wrapped->add_output(graph_.unique_name(output->name()), output->type),
                        output->name());
      output->replace_all_uses(made.back().first);
    }
    for (auto it = set_.rbegin(); it != set_.rend(); ++it) (*it)->region()->erase(*it);
    for (const auto& [value, name] : made) graph_.rename(value, name);
  }

private:
  bool inside(const Value* value) const { return value->producer() && members_.contains(value->producer()); }

  /// Whether input `i` is dropped: a view gets its new sizes as a constant.
  static bool is_dropped(const Node& node, std::size_t i) { return node.op().view && i > 0; }

  void collect_values() {
    std::vector<Value*> shared;
    for (const Node* node : set_)
      for (std::size_t i = 0; i < node->inputs().size(); ++i) {
        Value* input = node->inputs()[i];
        if (!input || inside(input) || input->constant() || is_dropped(*node, i)) continue;
        std::vector<Value*>& list = row_count(*input) ? inputs_ : shared;
        if (std::ranges::find(list, input) == list.end()) list.push_back(input);
      }
    counted_ = inputs_.size();
    inputs_.insert(inputs_.end(), shared.begin(), shared.end());
    for (const Node* node : set_) {
      const auto outside = [&](const Use& use) { return !use.node || !members_.contains(use.node); };
      if (std::ranges::any_of(node->output()->uses(), outside)) outputs_.push_back(node->output());
    }
  }

  static Type with_rows(const Type& type, std::int64_t rows) {
    Dims dims = type.dims();
    dims[0] = rows;
    return type.with_dims(std::move(dims));
  }

  Value* constant(Region& region, const Tensor& tensor, const Type& type, const std::string& name) {
    Node* made = region.create(graph_.ops().get("constant"), {});
    made->attributes.set("value", tensor);
    return made->add_output(graph_.unique_name(name), type);
  }

  /// Adds a region that computes the set for `rows` rows.
  void add_region(Node& wrapped, std::int64_t rows) {
    Region& region = wrapped.add_region();
    std::map<const Value*, Value*> inner;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      inner[inputs_[i]] =
          region.add_parameter(graph_.unique_name(inputs_[i]->name()),
                               i < counted_ ? with_rows(inputs_[i]->type, rows) : inputs_[i]->type);
    for (const Node* node : set_) {
      for (std::size_t i = 0; i < node->inputs().size(); ++i) {
        const Value* input = node->inputs()[i];
        if (input && input->constant() && !is_dropped(*node, i) && !inner[input])
          inner[input] = constant(region, *input->constant(), input->type, input->name());
      }
      const Type type = with_rows(node->output()->type, rows);
      Node* copy = node->op().view ? changed_shape(region, *node, inner, type) : copied(region, *node, inner);
      copy->sources = node->sources;
      inner[node->output()] = copy->add_output(graph_.unique_name(node->output()->name()), type);
    }
    for (const Value* output : outputs_) region.add_output(inner.at(output));
  }

  static Node* copied(Region& region, const Node& node, const std::map<const Value*, Value*>& inner) {
    std::vector<Value*> inputs;
    for (const Value* input : node.inputs()) inputs.push_back(input ? inner.at(input) : nullptr);
    Node* copy = region.create(node.op(), inputs);
    copy->attributes = node.attributes;
    return copy;
  }

  /// A reshape to sizes that are constant within the block.
  Node* changed_shape(Region& region, const Node& node, const std::map<const Value*, Value*>& inner,
                      const Type& type) {
    std::vector<std::int64_t> sizes;
    for (std::size_t d = 0; d < type.rank(); ++d) sizes.push_back(type.dims()[d].value());
    const Tensor tensor = Tensor::from<std::int64_t>(sizes, {static_cast<std::int64_t>(sizes.size())});
    Value* shape = constant(region, tensor, Type(DType::i64, tensor.shape()), "shape");
    return region.create(graph_.ops().get("reshape"), std::vector<Value*>{inner.at(node.input(0)), shape});
  }

  /// The new node is in the position of the set's last one, so earlier readers of the others must move after
  /// it.
  void move_readers_behind(Node& wrapped) {
    Region& region = *wrapped.region();
    std::set<const Node*> late(members_.begin(), members_.end());
    std::vector<Node*> moved;
    for (Node* node = set_.front(); node != set_.back(); node = region.next(node)) {
      if (members_.contains(node) || node == &wrapped) continue;
      const bool reads = std::ranges::any_of(node->inputs(), [&](const Value* input) {
        return input && input->producer() && late.contains(input->producer());
      });
      if (!reads) continue;
      late.insert(node);
      moved.push_back(node);
    }
    Node* behind = region.next(set_.back());
    for (Node* node : moved) region.move_before(node, behind);
  }

  Graph& graph_;
  const Set& set_;
  const std::set<const Node*> members_;
  std::size_t counted_ = 0; ///< Number of leading inputs that are split into rows.
  std::vector<Value*> inputs_, outputs_;
};

} // namespace

void gather_row_sets(Graph& graph, Device device) {
  std::vector<Set> sets = Finder(device).find(graph);
  for (Set& set : sets) {
    // Readers of the previous sets were moved.
    const auto order = execution_order(graph);
    std::ranges::sort(set, {}, [&](const Node* node) { return order.at(node); });
    Wrapping(graph, set).run();
  }
  if (!sets.empty()) infer_types(graph);
}

} // namespace lanner
