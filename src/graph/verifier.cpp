#include "graph/verifier.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/limits/account.h"
#include "graph/op.h"
#include "graph/storage/quantization.h"
#include "graph/storage/within.h"

namespace lanner {

namespace {

class Verifier {
public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    const Region& body = graph_.body();
    check(body.outputs().size() == graph_.output_names().size(), ErrorCode::internal,
          "graph has {} outputs but {} names", body.outputs().size(), graph_.output_names().size());
    for (const auto& [name, info] : graph_.symbols) {
      const bool ordered = 0 <= info.min && info.min <= info.max && info.opt <= info.max;
      check(ordered, ErrorCode::internal, "symbol {}: its range is empty", name);
    }
    region(body);
    compare_uses();
  }

private:
  void region(const Region& region) {
    for (const auto& parameter : region.parameters()) define(*parameter, region, nullptr);
    for (const auto& node : region.nodes())
      with_context([&] { return "node " + node->label(); }, [&] { check_node(*node, region); });
    for (std::size_t i = 0; i < region.outputs().size(); ++i)
      use(region.outputs()[i], region, {nullptr, const_cast<Region*>(&region), i});
    // All of them first: the memory of a value within another depends on both.
    each_value(region, [&](const Value& value) {
      with_context([&] { return "%" + value.name(); }, [&] { check_fits(value.type, value.storage); });
    });
    each_value(region, [&](const Value& value) { storage(value); });
  }

  template<typename Visit>
  static void each_value(const Region& region, const Visit& visit) {
    for (const auto& parameter : region.parameters()) visit(*parameter);
    for (const auto& node : region.nodes())
      for (const auto& output : node->outputs()) visit(*output);
  }

  void define(const Value& value, const Region& region, const Node* producer) {
    check_deadline();
    charge_.add(noted_bytes + value.uses().size() * sizeof(Use));
    const bool linked = value.region() == &region && value.producer() == producer;
    check(linked, ErrorCode::internal, "%{} points at another producer or region", value.name());
    check(graph_.find(value.name()) == &value, ErrorCode::internal, "name %{} belongs to another value",
          value.name());
    defined_.insert(&value);
    check_symbols(value.type, value);
  }

  void check_symbols(const Type& type, const Value& value) {
    if (!type.is_tensor()) return check_symbols(type.element(), value);
    if (!type.ranked()) return;
    std::set<std::string> names;
    for (const Dim& dim : type.dims()) {
      dim.collect_symbols(names);
      check(!dim.is_constant() || dim.value() >= 0, ErrorCode::internal, "%{} has a size below 0",
            value.name());
    }
    for (const std::string& name : names)
      check(graph_.symbols.contains(name), ErrorCode::internal, "%{}: symbol {} is not declared",
            value.name(), name);
  }

  void use(const Value* value, const Region& region, const Use& use) {
    check(value != nullptr, ErrorCode::internal, "an output of a region is missing");
    // Only the address is used before the value is known to be alive.
    check(defined_.contains(value), ErrorCode::internal, "input {} is not defined before it is used",
          use.index);
    check(value->region() == &region, ErrorCode::internal, "%{} of another region is used without a capture",
          value->name());
    uses_[value].push_back(use);
  }

  void check_node(const Node& node, const Region& region) {
    const OpDef& op = node.op();
    check(graph_.ops().find(op.name) == &op, ErrorCode::internal, "operator {} is not from the graph's table",
          op.name);
    check(node.region() == &region, ErrorCode::internal, "the node points at another region");
    arity("inputs", node.own_inputs().size(), op.min_inputs, op.max_inputs);
    arity("outputs", node.outputs().size(), op.min_outputs, op.max_outputs);
    arity("regions", node.regions().size(), op.regions, op.regions);
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      // Only an operator's inference knows which of its inputs are optional.
      check(node.input(i) || i < node.own_inputs().size(), ErrorCode::internal, "{}: capture {} is missing",
            op.name, i - node.own_inputs().size());
      if (node.input(i)) use(node.input(i), region, {const_cast<Node*>(&node), nullptr, i});
    }
    attributes(node);
    check(node.stream() >= 0 && node.stream() < max_streams, ErrorCode::internal,
          "stream {}, expected 0 to {}", node.stream(), max_streams - 1);
    check(node.stream() == 0 || region.owner() == nullptr, ErrorCode::internal,
          "stream {} within a region, whose nodes all run in stream 0", node.stream());
    for (const auto& inner : node.regions()) check_region(node, *inner);
    for (const auto& output : node.outputs()) define(*output, region, &node);
  }

  static void arity(std::string_view what, std::size_t count, int least, int most) {
    const bool fits = count >= static_cast<std::size_t>(std::max(least, 0)) &&
                      (most == OpDef::any || count <= static_cast<std::size_t>(most));
    check(fits, ErrorCode::internal, "{} {}, expected {} to {}", count, what, std::max(least, 0),
          most == OpDef::any ? "any number" : fmt::format("{}", most));
  }

  static void attributes(const Node& node) {
    const std::vector<AttributeSpec>& specs = node.op().attributes;
    for (const auto& [name, value] : node.attributes) {
      const auto spec =
          std::find_if(specs.begin(), specs.end(),
                       [key = std::string_view(name)](const auto& each) { return each.name == key; });
      check(spec != specs.end(), ErrorCode::internal, "{} has no attribute {}", node.kind(), name);
      check(spec->kind == kind_of(value), ErrorCode::internal, "attribute {}: expected {}, got {}", name,
            to_string(spec->kind), to_string(kind_of(value)));
      const Tensor* tensor = std::get_if<Tensor>(&value);
      check(!tensor || tensor->defined() || tensor->elements() == 0, ErrorCode::internal,
            "attribute {} holds an undefined tensor", name);
    }
    for (const AttributeSpec& spec : specs) {
      check(!spec.required || node.attributes.has(spec.name), ErrorCode::internal, "attribute {} is missing",
            spec.name);
    }
  }

  void check_region(const Node& node, const Region& inner) {
    check(inner.owner() == &node && &inner.graph() == &graph_, ErrorCode::internal,
          "a region points at another owner");
    check(inner.parameters().size() >= node.captures(), ErrorCode::internal,
          "a region has {} parameters for {} captures", inner.parameters().size(), node.captures());
    const std::size_t own = inner.parameters().size() - node.captures();
    for (std::size_t i = 0; i < node.captures(); ++i) {
      const Type &outer = node.inputs()[node.own_inputs().size() + i]->type,
                 &seen = inner.parameter(own + i)->type;
      const bool untyped = outer == Type{} || seen == Type{};
      const bool agree =
          untyped || (outer.kind() == seen.kind() && (!outer.is_tensor() || outer.dtype() == seen.dtype()));
      check(agree, ErrorCode::internal, "capture {} of type {} is a parameter of type {}", i,
            outer.to_string(), seen.to_string());
    }
    region(inner);
  }

  /// Checks that a storage is possible: a blocked or permuted layout needs a known size.
  static void check_fits(const Type& type, const Storage& storage) {
    check_within(type, storage);
    if (type.is_static())
      static_cast<void>(memory_bytes(storage, type.shape(), storage.dtype.value_or(type.dtype())));
    else
      check(storage.layout.row_major() || type == Type{}, ErrorCode::invalid_argument,
            "{} is stored as {}, but its sizes are not known before running", type.to_string(),
            storage.to_string());
  }

  void storage(const Value& value) {
    const Storage& storage = value.storage;
    if (storage.quantization) quantization(value);
    if (!storage.parent) {
      check(storage.offset == 0, ErrorCode::internal, "%{} has an offset but no parent", value.name());
      return;
    }
    const bool near = defined_.contains(storage.parent) && storage.parent->region() == value.region();
    check(near, ErrorCode::internal, "%{} has a parent in another region", value.name());
    std::size_t steps = 0;
    for (const Value* up = storage.parent; up; up = up->storage.parent) {
      check(up != &value && ++steps <= max_parents, ErrorCode::internal, "%{} is its own parent",
            value.name());
      check(defined_.contains(up), ErrorCode::internal, "%{} has a parent that no longer exists",
            value.name());
    }
    hold(value, *storage.parent);
  }

  void quantization(const Value& value) {
    with_context([&] { return "%" + value.name(); }, [&] { check_quantization(value.type, value.storage); });
    const std::vector<Value*> read = nearby_values(value);
    check(std::ranges::find(read, &value) == read.end(), ErrorCode::internal, "%{} is its own scale",
          value.name());
    if (const Node* producer = value.producer(); producer && !is_constant(*producer))
      check_reads(*producer, value, read);
    for (const Use& use : value.uses())
      if (use.node) check_reads(*use.node, value, read);
  }

  /// The values that its storage refers to, each checked to be in the same region before it is followed.
  std::vector<Value*> nearby_values(const Value& value) const {
    std::vector<const Value*> open{&value};
    std::set<const Value*> seen;
    while (!open.empty()) {
      const Value* one = open.back();
      open.pop_back();
      if (!one->storage.quantization || !seen.insert(one).second) continue;
      const Quantization& q = *one->storage.quantization;
      for (const Value* next : {q.scale.value, q.zero.value}) {
        if (!next) continue;
        const bool near = defined_.contains(next) && next->region() == value.region();
        check(near, ErrorCode::internal, "%{} has a scale in another region", value.name());
        open.push_back(next);
      }
    }
    return values_of(value.storage);
  }

  /// A kernel gets pointers only to its inputs, and runs when these exist. Constants always do.
  static void check_reads(const Node& node, const Value& value, const std::vector<Value*>& read) {
    for (const Value* scale : read)
      check(scale->constant() || std::ranges::find(node.inputs(), scale) != node.inputs().end(),
            ErrorCode::internal, "node {}: the storage of %{} reads %{}, which is not an input of the node",
            node.label(), value.name(), scale->name());
  }

  static void hold(const Value& child, const Value& parent) {
    check(child.storage.offset >= 0, ErrorCode::internal, "%{} starts before its parent", child.name());
    if (!child.type.is_static() || !parent.type.is_static()) return;
    const std::uint64_t end = bytes(child) + static_cast<std::uint64_t>(child.storage.offset);
    check(end <= bytes(parent), ErrorCode::internal, "%{} ends {} bytes into %{}, which has {}", child.name(),
          end, parent.name(), bytes(parent));
  }

  static std::uint64_t bytes(const Value& value) {
    return memory_bytes(value.storage, value.type.shape(), value.storage.dtype.value_or(value.type.dtype()));
  }

  void compare_uses() {
    const auto order = [](const Use& a, const Use& b) {
      return std::tuple(a.node, a.region, a.index) < std::tuple(b.node, b.region, b.index);
    };
    for (const Value* value : defined_) {
      std::vector<Use> listed(value->uses().begin(), value->uses().end());
      std::vector<Use>& found = uses_[value];
      std::sort(listed.begin(), listed.end(), order);
      std::sort(found.begin(), found.end(), order);
      check(listed == found, ErrorCode::internal, "%{} lists {} uses but has {}", value->name(),
            listed.size(), found.size());
    }
  }

  static constexpr std::size_t max_parents = 64;
  static constexpr std::uint64_t noted_bytes = 192; ///< Per element of each set below, with its list.

  const Graph& graph_;
  Charge charge_{current_account()};
  std::unordered_set<const Value*> defined_;
  std::unordered_map<const Value*, std::vector<Use>> uses_;
};

} // namespace

void verify(const Graph& graph) {
  Verifier(graph).run();
}

} // namespace lanner
