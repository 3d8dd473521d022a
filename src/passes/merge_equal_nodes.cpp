#include <algorithm>
#include <unordered_map>

#include "base/limits/account.h"
#include "graph/op.h"
#include "ops/definition/recipe.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "tensor/content_hash.h"

namespace lanner::passes {

namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15ull + (seed >> 29);
}

template<typename Element>
std::size_t hash_of_list(const std::vector<Element>& list) {
  std::size_t hash = list.size();
  for (const Element& value : list) hash = mix(hash, std::hash<Element>{}(value));
  return hash;
}

std::size_t hash_of(const Attribute& attribute) {
  if (const Tensor* tensor = std::get_if<Tensor>(&attribute)) return content_hash(*tensor);
  if (const auto* value = std::get_if<std::int64_t>(&attribute)) return static_cast<std::size_t>(*value);
  if (const auto* text = std::get_if<std::string>(&attribute)) return std::hash<std::string>{}(*text);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) return hash_of_list(*list);
  if (const auto* number = std::get_if<double>(&attribute)) return std::hash<double>{}(*number);
  if (const auto* list = std::get_if<std::vector<double>>(&attribute)) return hash_of_list(*list);
  if (const auto* list = std::get_if<std::vector<std::string>>(&attribute)) return hash_of_list(*list);
  // Attributes of other kinds seldom tell nodes apart; equality decides.
  return attribute.index();
}

bool same(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Tensor>) {
          return same_content(value, std::get<Tensor>(b));
        } else {
          return value == std::get<T>(b);
        }
      },
      a);
}

bool same(const AttributeMap& a, const AttributeMap& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && same(x.second, y.second);
         });
}

/// Equal constants of one element, whatever source weights they come from, by the first of them.
class Scalars {
public:
  void add(const Value& value) {
    const Tensor* tensor = value.constant();
    if (!tensor || tensor->elements() != 1) return;
    const std::size_t hash = content_hash(*tensor);
    const auto [begin, end] = seen_.equal_range(hash);
    const auto equal = std::find_if(
        begin, end, [&](const auto& entry) { return same_content(*entry.second->constant(), *tensor); });
    if (equal == end)
      seen_.emplace(hash, &value);
    else
      first_[&value] = equal->second;
  }
  const Value* first(const Value* value) const {
    const auto found = first_.find(value);
    return found == first_.end() ? value : found->second;
  }

private:
  std::unordered_multimap<std::size_t, const Value*> seen_;
  std::unordered_map<const Value*, const Value*> first_;
};

std::size_t hash_of(const Node& node, const Scalars& scalars) {
  std::size_t hash = std::hash<const OpDef*>{}(&node.op());
  for (const Value* input : node.inputs()) hash = mix(hash, std::hash<const Value*>{}(scalars.first(input)));
  for (const auto& [name, value] : node.attributes)
    hash = mix(mix(hash, std::hash<std::string>{}(name)), hash_of(value));
  return hash;
}

bool same(const Node& a, const Node& b, const Scalars& scalars) {
  const auto same_input = [&](const Value* x, const Value* y) {
    return scalars.first(x) == scalars.first(y);
  };
  return &a.op() == &b.op() && a.outputs().size() == b.outputs().size() &&
         std::ranges::equal(a.inputs(), b.inputs(), same_input) && same(a.attributes, b.attributes);
}

bool is_mergeable(const Node& node) {
  if (!node.regions().empty() || !node.op().pure || node.outputs().empty()) return false;
  return std::ranges::all_of(node.outputs(), [](const auto& output) { return output->storage.is_default(); });
}

void merge(Node& first, Node& second) {
  // Source weights that are equal now are treated as one.
  for (std::size_t i = 0; i < second.inputs().size(); ++i) {
    if (first.inputs()[i] == second.inputs()[i]) continue;
    note_decided(second.region()->graph(), first.inputs()[i]);
    note_decided(second.region()->graph(), second.inputs()[i]);
  }
  for (std::size_t i = 0; i < second.outputs().size(); ++i)
    second.output(i)->replace_all_uses(first.output(i));
  take_sources(first, second);
  second.region()->erase(&second);
}

bool merge_in(Region& region) {
  bool changed = false;
  std::unordered_multimap<std::size_t, Node*> seen;
  Scalars scalars;
  Node* node = region.nodes().empty() ? nullptr : region.nodes().front().get();
  while (node) {
    check_deadline();
    Node* const next = region.next(node);
    if (is_mergeable(*node)) {
      const std::size_t hash = hash_of(*node, scalars);
      const auto [begin, end] = seen.equal_range(hash);
      const auto equal =
          std::find_if(begin, end, [&](const auto& entry) { return same(*entry.second, *node, scalars); });
      if (equal != end) {
        merge(*equal->second, *node);
        changed = true;
      } else {
        seen.emplace(hash, node);
        if (node->kind() == "constant") scalars.add(*node->output());
      }
    }
    node = next;
  }
  return changed;
}

} // namespace

bool merge_equal_nodes(Graph& graph) {
  bool changed = false;
  for_each_region(graph, [&](Region& region) { changed = merge_in(region) || changed; });
  return changed;
}

} // namespace lanner::passes
