// Tree ensembles as operator sets 1 to 4 of ai.onnx.ml write them, converted to ml.tree_ensemble.

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "importers/onnx/ml_scores.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

using Id = std::pair<std::int64_t, std::int64_t>; ///< Of a node: its tree and its number within the tree.

struct Weight {
  std::int64_t target = 0;
  float value = 0;
};

/// The per-node attribute lists, all of the same length.
struct Nodes {
  std::vector<std::int64_t> trees, numbers, features, whether_true, whether_false, missing;
  std::vector<double> values;
  std::vector<std::string> modes;
  std::map<Id, std::size_t> places;
  std::map<Id, std::vector<Weight>> weights; ///< Weights of leaves.
};

std::vector<std::int64_t> list_of(const RuleContext& context, const char* name, std::size_t count) {
  const std::vector<std::int64_t> values = context.integers(name, std::vector<std::int64_t>(count, 0));
  check(values.size() == count, ErrorCode::bad_data, "attribute {} has {} entries, expected {}", name,
        values.size(), count);
  return values;
}

/// `prefix`: target or class.
void read_weights(const RuleContext& context, const std::string& prefix, Nodes& nodes) {
  const auto targets = context.integers(prefix + "_ids"), trees = context.integers(prefix + "_treeids"),
             numbers = context.integers(prefix + "_nodeids");
  const auto weights = context.reals(prefix + "_weights");
  check(trees.size() == targets.size() && numbers.size() == targets.size() &&
            weights.size() == targets.size(),
        ErrorCode::bad_data, "attributes {}_ids, _treeids, _nodeids and _weights are of unequal length",
        prefix);
  for (std::size_t i = 0; i < targets.size(); ++i)
    nodes.weights[{trees[i], numbers[i]}].push_back({targets[i], static_cast<float>(weights[i])});
}

Nodes read_nodes(const RuleContext& context, const std::string& prefix) {
  for (const char* name : {"nodes_values_as_tensor", "nodes_hitrates_as_tensor", "base_values_as_tensor"})
    check(!context.has_attribute(name), ErrorCode::unsupported,
          "attribute {}: trees in f64 are not supported", name);
  Nodes nodes;
  nodes.modes = context.get<std::vector<std::string>>("nodes_modes", "strings");
  const std::size_t count = nodes.modes.size();
  nodes.trees = list_of(context, "nodes_treeids", count);
  nodes.numbers = list_of(context, "nodes_nodeids", count);
  nodes.features = list_of(context, "nodes_featureids", count);
  nodes.whether_true = list_of(context, "nodes_truenodeids", count);
  nodes.whether_false = list_of(context, "nodes_falsenodeids", count);
  nodes.missing = list_of(context, "nodes_missing_value_tracks_true", count);
  nodes.values = context.reals("nodes_values");
  check(nodes.values.size() == count && count > 0, ErrorCode::bad_data,
        "attribute nodes_values has {} entries, expected {}", nodes.values.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool added = nodes.places.emplace(Id{nodes.trees[i], nodes.numbers[i]}, i).second;
    check(added, ErrorCode::bad_data, "node {} of tree {} appears twice", nodes.numbers[i], nodes.trees[i]);
  }
  read_weights(context, prefix, nodes);
  return nodes;
}

std::int64_t mode_of(const std::string& name) {
  constexpr std::string_view names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  const auto found = std::ranges::find(names, name);
  check(found != std::end(names), ErrorCode::bad_data,
        "attribute nodes_modes holds '{}', expected LEAF, BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, "
        "BRANCH_EQ "
        "or BRANCH_NEQ",
        name);
  return found - std::begin(names);
}

/// The attributes of ml.tree_ensemble, whose leaves have one target each: an ensemble whose leaves have
/// several targets is written once for each target.
struct Ensemble {
  std::vector<std::int64_t> features, modes, missing, roots, leaf_targets;
  std::array<std::vector<std::int64_t>, 2> next, is_leaf; ///< Child for false and for true.
  std::vector<float> splits, leaf_weights;

  std::int64_t add_leaf(std::int64_t target, float weight) {
    leaf_targets.push_back(target);
    leaf_weights.push_back(weight);
    return std::ssize(leaf_targets) - 1;
  }
};

std::int64_t leaf_for(Ensemble& made, const Nodes& nodes, const Id& id, std::int64_t target, bool whole) {
  const auto found = nodes.weights.find(id);
  float sum = 0;
  std::int64_t to = std::max<std::int64_t>(target, 0);
  if (found != nodes.weights.end())
    for (const Weight& weight : found->second) {
      if (!whole && weight.target != target) continue;
      sum += weight.value;
      to = weight.target;
    }
  return made.add_leaf(to, sum);
}

/// The trees with the leaves' weights for `target` or, with `whole`, with the only weight of each leaf.
void add_trees(Ensemble& made, const Nodes& nodes, std::int64_t target, bool whole) {
  const std::size_t count = nodes.modes.size();
  std::vector<std::int64_t> branch(count, -1);
  std::int64_t next = std::ssize(made.features);
  for (std::size_t i = 0; i < count; ++i)
    if (nodes.modes[i] != "LEAF") branch[i] = next++;
  const auto lead = [&](std::size_t from, std::int64_t number, std::size_t way) {
    const Id id{nodes.trees[from], number};
    const auto found = nodes.places.find(id);
    check(found != nodes.places.end(), ErrorCode::bad_data, "tree {} has no node {}, which node {} leads to",
          id.first, number, nodes.numbers[from]);
    const std::int64_t to = branch[found->second];
    made.is_leaf[way].push_back(to < 0 ? 1 : 0);
    made.next[way].push_back(to < 0 ? leaf_for(made, nodes, id, target, whole) : to);
  };
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const bool root = seen.insert(nodes.trees[i]).second;
    if (branch[i] < 0) {
      check(!root, ErrorCode::unsupported, "tree {} is a single leaf, which is not supported",
            nodes.trees[i]);
      continue;
    }
    if (root) made.roots.push_back(branch[i]);
    made.features.push_back(nodes.features[i]);
    made.modes.push_back(mode_of(nodes.modes[i]));
    made.missing.push_back(nodes.missing[i]);
    made.splits.push_back(static_cast<float>(nodes.values[i]));
    lead(i, nodes.whether_false[i], 0);
    lead(i, nodes.whether_true[i], 1);
  }
}

Ensemble ensemble_of(const Nodes& nodes, std::int64_t targets) {
  bool several = false;
  for (const auto& [id, weights] : nodes.weights) {
    several = several || weights.size() > 1;
    for (const Weight& weight : weights)
      check(weight.target >= 0 && weight.target < targets, ErrorCode::bad_data,
            "a leaf's weight is of target {}, expected 0 to {}", weight.target, targets - 1);
  }
  Ensemble made;
  for (std::int64_t target = 0; target < (several ? targets : 1); ++target)
    add_trees(made, nodes, target, !several);
  return made;
}

Tensor floats(const std::vector<float>& values) {
  return Tensor::from<float>(values, {static_cast<std::int64_t>(values.size())});
}

/// Sums (0), means (1), minima (2) or maxima (3) of the trees' weights, f32 [n, targets].
Value* scores_of(RuleContext& context, const Nodes& nodes, std::int64_t targets, std::int64_t aggregate) {
  const Ensemble made = ensemble_of(nodes, targets);
  const bool copies = made.roots.size() > std::set(nodes.trees.begin(), nodes.trees.end()).size();
  check(aggregate == 1 || !copies, ErrorCode::unsupported,
        "leaves with several targets are supported with aggregate_function SUM only");
  std::vector<std::uint8_t> modes(made.modes.begin(), made.modes.end());
  AttributeMap attributes;
  attributes.set("n_targets", targets);
  attributes.set("aggregate_function", aggregate);
  attributes.set("nodes_featureids", made.features);
  attributes.set("nodes_modes", Tensor::from<std::uint8_t>(modes, {static_cast<std::int64_t>(modes.size())}));
  attributes.set("nodes_splits", floats(made.splits));
  attributes.set("nodes_missing_value_tracks_true", made.missing);
  attributes.set("nodes_falsenodeids", made.next[0]);
  attributes.set("nodes_truenodeids", made.next[1]);
  attributes.set("nodes_falseleafs", made.is_leaf[0]);
  attributes.set("nodes_trueleafs", made.is_leaf[1]);
  attributes.set("leaf_targetids", made.leaf_targets);
  attributes.set("leaf_weights", floats(made.leaf_weights));
  attributes.set("tree_roots", made.roots);
  return in_type(context,
                 context.emit("ml.tree_ensemble", {as_reals(context, context.required(0))}, attributes),
                 DType::f32);
}

void regressor(RuleContext& context) {
  const std::int64_t targets = context.integer("n_targets", 1);
  check(targets >= 1 && targets <= 1 << 24, ErrorCode::bad_data,
        "attribute n_targets is {}, expected 1 to {}", targets, 1 << 24);
  const std::string aggregate = context.string("aggregate_function", "SUM");
  constexpr std::string_view names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto found = std::ranges::find(names, aggregate);
  check(found != std::end(names), ErrorCode::bad_data,
        "attribute aggregate_function is '{}', expected AVERAGE, SUM, MIN or MAX", aggregate);
  Value* scores = scores_of(context, read_nodes(context, "target"), targets, found - std::begin(names));
  context.set_output(0, transformed(context, with_offsets(context, scores, context.reals("base_values"))));
}

/// Classes for which some tree has a weight in every leaf.
std::set<std::int64_t> always_voted(const Nodes& nodes) {
  std::map<std::int64_t, std::size_t> leaves;                         // By tree.
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> votes; // By tree and class.
  for (std::size_t i = 0; i < nodes.modes.size(); ++i)
    if (nodes.modes[i] == "LEAF") ++leaves[nodes.trees[i]];
  for (const auto& [id, weights] : nodes.weights) {
    std::set<std::int64_t> classes;
    for (const Weight& weight : weights) classes.insert(weight.target);
    for (const std::int64_t one : classes) ++votes[{id.first, one}];
  }
  std::set<std::int64_t> always;
  for (const auto& [vote, count] : votes)
    if (count == leaves[vote.first]) always.insert(vote.second);
  return always;
}

/// Scores by which the class is chosen: a class that no tree voted for is not a candidate, as in onnxruntime.
Value* candidates(RuleContext& context, const Nodes& nodes, Value* scores, std::int64_t classes) {
  if (!context.reals("base_values").empty() || std::ssize(always_voted(nodes)) == classes) return scores;
  Nodes counted = nodes;
  for (auto& [id, weights] : counted.weights)
    for (Weight& weight : weights) weight.value = 1;
  Value* none =
      context.emit("equal", {scores_of(context, counted, classes, 1), context.scalar(DType::f32, 0)});
  Value* least = context.scalar(DType::f32, -std::numeric_limits<double>::infinity());
  return context.emit("where", {none, least, scores});
}

void classifier(RuleContext& context) {
  const Nodes nodes = read_nodes(context, "class");
  const Labels labels = labels_of(context, "classlabels_int64s");
  std::set<std::int64_t> weighted;
  bool positive = true;
  for (const auto& [id, weights] : nodes.weights)
    for (const Weight& weight : weights) {
      weighted.insert(weight.target);
      positive = positive && weight.value >= 0;
    }
  check(labels.count >= 2, ErrorCode::unsupported, "a classifier of {} class", labels.count);
  const auto offsets = context.reals("base_values");
  if (labels.count == 2 && weighted == std::set<std::int64_t>{0}) {
    check(offsets.size() <= 1, ErrorCode::unsupported,
          "two base_values of a classifier that scores one class");
    Value* score = with_offsets(context, scores_of(context, nodes, 1, 1), offsets);
    return set_two_classes(context, labels, score, positive);
  }
  check(
      labels.count > 2, ErrorCode::unsupported,
      "trees that score both of two classes, or the second alone; expected scores of the first, as exporters "
      "write them, or three classes");
  Value* scores = with_offsets(context, scores_of(context, nodes, labels.count, 1), offsets);
  set_classes(context, labels, scores, candidates(context, nodes, scores, labels.count));
}

} // namespace

void add_ml_tree_rules(Rules& rules) {
  rules["ai.onnx.ml.TreeEnsembleRegressor"] = regressor;
  rules["ai.onnx.ml.TreeEnsembleClassifier"] = classifier;
}

} // namespace lanner::onnx
