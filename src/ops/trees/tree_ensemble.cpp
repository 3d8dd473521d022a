#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// ml.tree_ensemble: ONNX's ai.onnx.ml.TreeEnsemble.

namespace {

enum class Mode : std::uint8_t { less_or_equal, less, greater_or_equal, greater, equal, not_equal, member };
enum class Aggregate : std::uint8_t { average, sum, least, most };
enum class Transform : std::uint8_t { none, softmax, logistic, softmax_zero, probit };

struct Branch {
  std::size_t feature = 0;
  Mode mode = Mode::less_or_equal;
  double split = 0;
  std::set<double> members;
  bool missing_is_true = false;
  std::size_t next[2] = {0, 0}; ///< The next branch for false and true.
  bool leaf[2] = {false, false};
};

struct Leaf {
  std::size_t target = 0;
  double weight = 0;
};

struct Ensemble {
  std::vector<Branch> branches;
  std::vector<Leaf> leaves;
  std::vector<std::size_t> roots;
  std::size_t targets = 1;
  Aggregate aggregate = Aggregate::sum;
  Transform transform = Transform::none;
};

std::size_t index_below(std::int64_t value, std::size_t count, std::string_view what) {
  check(value >= 0 && static_cast<std::size_t>(value) < count, ErrorCode::invalid_argument,
        "{} holds {}, expected 0 to {}", what, value, static_cast<std::int64_t>(count) - 1);
  return static_cast<std::size_t>(value);
}

/// A list with one entry per branch (or leaf); zeros where absent.
std::vector<std::int64_t> list(const AttributeMap& attributes, std::string_view name, std::size_t count) {
  std::vector<std::int64_t> values = attributes.integers(name, std::vector<std::int64_t>(count, 0));
  check(values.size() == count, ErrorCode::invalid_argument, "{} has {} entries, expected {}", name,
        values.size(), count);
  return values;
}

/// The sets of the branches of mode `member`, each terminated by a NaN, in the order of the branches.
void read_members(const AttributeMap& attributes, std::vector<Branch>& branches) {
  if (!attributes.has("membership_values")) return;
  const std::vector<double> values = doubles_of(attributes.get<Tensor>("membership_values"));
  auto value = values.begin();
  for (Branch& branch : branches) {
    if (branch.mode != Mode::member) continue;
    while (value != values.end() && !std::isnan(*value)) branch.members.insert(*value++);
    if (value != values.end()) ++value;
  }
}

void read_branches(const AttributeMap& attributes, Ensemble& made) {
  const auto features = attributes.integers("nodes_featureids");
  const std::size_t count = features.size();
  const std::vector<double> splits = doubles_of(attributes.get<Tensor>("nodes_splits")),
                            modes = doubles_of(attributes.get<Tensor>("nodes_modes"));
  check(splits.size() == count && modes.size() == count, ErrorCode::invalid_argument,
        "nodes_splits and nodes_modes have {} and {} entries, expected {}", splits.size(), modes.size(),
        count);
  const auto missing = list(attributes, "nodes_missing_value_tracks_true", count);
  const std::vector<std::int64_t> next[2] = {list(attributes, "nodes_falsenodeids", count),
                                             list(attributes, "nodes_truenodeids", count)},
                                  leaf[2] = {list(attributes, "nodes_falseleafs", count),
                                             list(attributes, "nodes_trueleafs", count)};
  for (std::size_t i = 0; i < count; ++i) {
    Branch branch;
    branch.feature = index_below(features[i], SIZE_MAX >> 1, "nodes_featureids");
    branch.mode = static_cast<Mode>(index_below(static_cast<std::int64_t>(modes[i]), 7, "nodes_modes"));
    branch.split = splits[i];
    branch.missing_is_true = missing[i] != 0;
    for (std::size_t way : {0, 1}) {
      branch.leaf[way] = leaf[way][i] != 0;
      branch.next[way] = index_below(next[way][i], branch.leaf[way] ? made.leaves.size() : count, "a branch");
    }
    made.branches.push_back(std::move(branch));
  }
  read_members(attributes, made.branches);
}

Ensemble read_ensemble(const AttributeMap& attributes) {
  Ensemble made;
  made.targets = index_below(attributes.integer("n_targets", 1), std::size_t{1} << 24, "n_targets");
  made.aggregate = static_cast<Aggregate>(
      index_below(attributes.integer("aggregate_function", 1), 4, "aggregate_function"));
  made.transform =
      static_cast<Transform>(index_below(attributes.integer("post_transform", 0), 5, "post_transform"));
  const std::vector<double> weights = doubles_of(attributes.get<Tensor>("leaf_weights"));
  const auto targets = list(attributes, "leaf_targetids", weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    made.leaves.push_back({index_below(targets[i], made.targets, "leaf_targetids"), weights[i]});
  read_branches(attributes, made);
  for (const std::int64_t root : attributes.integers("tree_roots"))
    made.roots.push_back(index_below(root, made.branches.size(), "tree_roots"));
  return made;
}

bool holds(const Branch& branch, double x) {
  if (std::isnan(x)) return branch.missing_is_true;
  switch (branch.mode) {
  case Mode::less_or_equal:
    return x <= branch.split;
  case Mode::less:
    return x < branch.split;
  case Mode::greater_or_equal:
    return x >= branch.split;
  case Mode::greater:
    return x > branch.split;
  case Mode::equal:
    return x == branch.split;
  case Mode::not_equal:
    return x != branch.split;
  case Mode::member:
    return branch.members.contains(x);
  }
  return false;
}

const Leaf& leaf_of(const Ensemble& ensemble, std::size_t root, std::span<const double> row) {
  std::size_t at = root;
  for (std::size_t steps = 0; steps <= ensemble.branches.size(); ++steps) {
    const Branch& branch = ensemble.branches[at];
    check(branch.feature < row.size(), ErrorCode::invalid_argument, "feature {} is used, the input has {}",
          branch.feature, row.size());
    const std::size_t way = holds(branch, row[branch.feature]) ? 1 : 0;
    if (branch.leaf[way]) return ensemble.leaves[branch.next[way]];
    at = branch.next[way];
  }
  fail(ErrorCode::invalid_argument, "the branches of a tree form a cycle");
}

double probit(double p) {
  // Winitzki's approximation of the inverse error function, as in ONNX's reference.
  const double x = 2 * p - 1, logarithm = std::log((1 - x) * (1 + x)),
               half = 2 / (3.14159 * 0.147) + 0.5 * logarithm;
  return std::sqrt(2.0) * std::copysign(std::sqrt(std::sqrt(half * half - logarithm / 0.147) - half), x);
}

void transform(std::span<double> scores, Transform kind) {
  if (kind == Transform::logistic)
    for (double& score : scores) score = 1 / (1 + std::exp(-score));
  if (kind == Transform::probit)
    for (double& score : scores) score = probit(score);
  if (kind != Transform::softmax && kind != Transform::softmax_zero) return;
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) {
    const bool zero = kind == Transform::softmax_zero && score == 0;
    sum += score = zero ? 0 : std::exp(score - most);
  }
  for (double& score : scores) score /= sum == 0 ? 1 : sum;
}

void score(const Ensemble& ensemble, std::span<const double> row, std::span<double> scores) {
  std::vector<std::size_t> votes(scores.size(), 0);
  std::ranges::fill(scores, 0.0);
  for (const std::size_t root : ensemble.roots) {
    const Leaf& leaf = leaf_of(ensemble, root, row);
    double& total = scores[leaf.target];
    const bool first = votes[leaf.target]++ == 0;
    if (ensemble.aggregate == Aggregate::least)
      total = first ? leaf.weight : std::min(total, leaf.weight);
    else if (ensemble.aggregate == Aggregate::most)
      total = first ? leaf.weight : std::max(total, leaf.weight);
    else
      total += leaf.weight;
  }
  if (ensemble.aggregate == Aggregate::average)
    for (double& total : scores)
      total /= static_cast<double>(std::max<std::size_t>(ensemble.roots.size(), 1));
  transform(scores, ensemble.transform);
}

} // namespace

static void infer_tree_ensemble(InferContext& context) {
  require_rank(context, 0, 2);
  const Ensemble ensemble = read_ensemble(context.attributes());
  const Type& x = context.input(0);
  if (!x.ranked()) return context.set_output(0, Type::unranked(x.dtype()));
  context.set_output(0, Type(x.dtype(), Dims{x.dims()[0], Dim(static_cast<std::int64_t>(ensemble.targets))}));
}

static void run_tree_ensemble(KernelContext& context) {
  const Ensemble ensemble = read_ensemble(context.attributes());
  const std::vector<double> x = doubles_of(context.input(0));
  const auto features = static_cast<std::size_t>(context.input(0).shape()[1]), targets = ensemble.targets;
  Tensor scores = Tensor::allocate(DType::f64, context.output(0).shape());
  for_each_row(context.threads(), context.input(0).shape()[0], [&](std::int64_t n) {
    const auto row = static_cast<std::size_t>(n);
    score(ensemble, std::span(x).subspan(row * features, features),
          scores.as<double>().subspan(row * targets, targets));
  });
  copy_tensor(scores, context.output(0));
}

std::vector<OpDef> tree_ensemble_ops() {
  using K = AttributeKind;
  return {
      OpDef{.name = "ml.tree_ensemble",
            .min_inputs = 1,
            .max_inputs = 1,
            .operands = {{"x", dtypes::floats, 0, "_ _"}},
            .attributes = {integer_attribute("aggregate_function", 1, between(0, 3)),
                           integer_attribute("n_targets", 1, between(1, 1 << 24)),
                           integer_attribute("post_transform", 0, between(0, 4)),
                           required_attribute("leaf_targetids", K::integers, at_least(0)),
                           required_attribute("leaf_weights", K::tensor, element_types(dtypes::floats)),
                           optional_attribute("membership_values", K::tensor, element_types(dtypes::floats)),
                           required_attribute("nodes_falseleafs", K::integers, yes_or_no()),
                           required_attribute("nodes_falsenodeids", K::integers, at_least(0)),
                           required_attribute("nodes_featureids", K::integers, at_least(0)),
                           optional_attribute("nodes_hitrates", K::tensor, element_types(dtypes::floats)),
                           optional_attribute("nodes_missing_value_tracks_true", K::integers, yes_or_no()),
                           required_attribute("nodes_modes", K::tensor, element_types(dtypes::integers)),
                           required_attribute("nodes_splits", K::tensor, element_types(dtypes::floats)),
                           required_attribute("nodes_trueleafs", K::integers, yes_or_no()),
                           required_attribute("nodes_truenodeids", K::integers, at_least(0)),
                           required_attribute("tree_roots", K::integers, at_least(0))},
            .infer = infer_tree_ensemble,
            .reference = run_tree_ensemble,
            .expand = {},
            .traits = {.pattern = Pattern::selection, .discontinuous = true, .accumulates = true}}};
}

} // namespace lanner::ops
