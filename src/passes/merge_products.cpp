// Products of one value with several constants, whose results are then split into heads (queries, keys and
// values of attention), become one product and slices of it: one larger kernel instead of three small ones.

#include <algorithm>
#include <map>

#include "graph/op.h"
#include "passes/passes.h"
#include "passes/rewriting/constant_math.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {
namespace {

constexpr std::size_t most_branches = 8;
/// Column alignment of the parts, so that kernels can load them in packs.
constexpr std::int64_t pack = 16;

/// product(x, weights), and the bias that may follow.
struct Branch {
  Node* product = nullptr;
  Node* sum = nullptr; ///< Null where there is no bias.
  Value* weights = nullptr;
  Value* bias = nullptr;

  Value* result() const { return (sum ? sum : product)->output(); }
  std::int64_t columns() const { return weights->constant()->shape()[1]; }
};

Node* sole_reader(const Value& value) {
  return value.uses().size() == 1 ? value.uses().front().node : nullptr;
}

bool is_bias(const Value* value, std::int64_t columns) {
  const Tensor* constant = value ? value->constant() : nullptr;
  return constant && constant->rank() == 1 && constant->shape()[0] == columns;
}

std::optional<Branch> branch_of(Node& node, const Value& x) {
  const Tensor* weights =
      node.kind() == "matmul" && node.input(0) == &x ? node.input(1)->constant() : nullptr;
  if (!weights || weights->rank() != 2 || weights->shape()[1] % pack != 0) return std::nullopt;
  Branch branch{.product = &node, .weights = node.input(1)};
  Node* reader = sole_reader(*node.output());
  if (reader && reader->kind() == "add") {
    Value* other = reader->input(reader->input(0) == node.output() ? 1 : 0);
    if (!is_bias(other, branch.columns())) return std::nullopt;
    branch.sum = reader;
    branch.bias = other;
    reader = sole_reader(*reader->output());
  }
  if (!reader || reader->kind() != "reshape") return std::nullopt;
  return branch;
}

bool go_together(const Branch& a, const Branch& b) {
  return !a.bias == !b.bias && a.product->region() == b.product->region() &&
         a.weights->type.dtype() == b.weights->type.dtype() &&
         a.product->output()->type.dtype() == b.product->output()->type.dtype();
}

/// All products of the value that can be merged with the first one.
std::vector<Branch> branches_of(const Value& x) {
  std::vector<Branch> branches;
  if (!x.type.ranked() || x.type.rank() < 2 || x.constant()) return {};
  for (const Use& use : x.uses()) {
    if (!use.node || use.index != 0) continue;
    const auto branch = branch_of(*use.node, x);
    if (branch && (branches.empty() || go_together(branches.front(), *branch))) branches.push_back(*branch);
  }
  return branches.size() < 2 || branches.size() > most_branches ? std::vector<Branch>() : branches;
}

Value* joined(ConstantMath& math, const std::vector<Branch>& branches, Value* Branch::*operand,
              std::int64_t axis) {
  std::vector<Value*> parts;
  for (const Branch& branch : branches) parts.push_back(branch.*operand);
  AttributeMap attributes;
  attributes.set("axis", axis);
  return math.apply("concat", std::move(parts), std::move(attributes));
}

Type with_columns(const Type& type, std::int64_t columns) {
  Dims dims = type.dims();
  dims.back() = Dim(columns);
  return {type.dtype(), std::move(dims)};
}

/// Merges at the last node of the last branch, so that all removed nodes were visited before.
class Merger {
public:
  bool visit(Node& node) {
    order_[&node] = order_.size();
    Value* x = product_input(node);
    if (!x) return false;
    std::vector<Branch> branches = branches_of(*x);
    const bool all = !branches.empty() && std::ranges::all_of(branches, [&](const Branch& branch) {
      return order_.contains(branch.result()->producer());
    });
    if (!all) return false;
    std::ranges::sort(branches, {}, [&](const Branch& branch) { return order_.at(branch.product); });
    return merge(branches);
  }

private:
  /// The data input of a product, given the product or the add of its bias.
  static Value* product_input(const Node& node) {
    if (node.kind() == "matmul") return node.input(0);
    if (node.kind() != "add") return nullptr;
    for (const Value* input : node.own_inputs())
      if (const Node* product = producer(input, "matmul")) return product->input(0);
    return nullptr;
  }

  bool merge(const std::vector<Branch>& branches) {
    Node& first = *branches.front().product;
    ConstantMath math(first);
    Value* const weights = joined(math, branches, &Branch::weights, 1);
    Value* const bias = branches.front().bias ? joined(math, branches, &Branch::bias, 0) : nullptr;
    if (!weights || (branches.front().bias && !bias)) return false;
    std::int64_t columns = 0;
    for (const Branch& branch : branches) columns += branch.columns();
    const Type whole = with_columns(first.output()->type, columns);
    Value* result = emit_before(first, "matmul", std::vector<Value*>{first.input(0), weights}, {}, whole);
    if (bias) result = emit_before(first, "add", std::vector<Value*>{result, bias}, {}, whole);
    for (const Branch& branch : branches) take_sources(*result->producer(), *branch.product);
    std::int64_t begin = 0;
    for (const Branch& branch : branches) {
      put_part(branch, *result, begin);
      begin += branch.columns();
    }
    return true;
  }

  void put_part(const Branch& branch, Value& whole, std::int64_t begin) {
    Node& last = *branch.result()->producer();
    const auto axis = static_cast<std::int64_t>(whole.type.rank()) - 1;
    const std::vector<Value*> inputs{&whole, integers_before(last, {begin}, "begin"),
                                     integers_before(last, {begin + branch.columns()}, "end"),
                                     integers_before(last, {axis}, "axis")};
    Value* const part = emit_before(last, "slice", inputs, {}, with_columns(whole.type, branch.columns()));
    order_.erase(&last);
    replace(last, part);
  }

  std::map<const Node*, std::size_t> order_; ///< Position of each visited node that still exists.
};

} // namespace

bool merge_products(Graph& graph) {
  Merger merger;
  return for_each_node(graph, [&](Node& node) { return merger.visit(node); });
}

} // namespace lanner::passes
