#include "builder/int8/int8_trials.h"

#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "graph/copy.h"
#include "graph/infer.h"

namespace lanner {
namespace {

std::string value_input(const std::string& value) {
  return "value:" + value;
}
std::string scale_input(const std::string& value) {
  return "scale:" + value;
}

constexpr std::string_view node_output = "node:", exact_output = "exact:", rounded_output = "rounded:";

/// A type with the same rank and sizes of its own where sizes are open.
Type with_own_sizes(Graph& graph, const Type& type) {
  Dims dims;
  for (const Dim& dim : type.dims())
    dims.push_back(dim.constant() ? dim : graph.fresh_symbol("d", INT64_MAX));
  return Type(type.dtype(), dims);
}

class TrialGraph {
public:
  explicit TrialGraph(const Graph& from) : from_(from), graph_(std::make_unique<Graph>(from.ops(), "int8")) {}

  /// Nothing: its weights cannot be quantised.
  std::optional<passes::WeightSums> add(const passes::Int8Candidate& candidate, bool negative) {
    const Node& node = *from_.find(candidate.node)->producer();
    const Value& x = *node.input(0);
    NodeCopier copier(graph_->body());
    copier.map(&x, rounded(x, negative));
    for (std::size_t i = 1; i < node.inputs().size(); ++i) {
      const Value* const input = node.input(i);
      if (!input) continue;
      if (!input->constant()) return std::nullopt;
      copier.map(input, constant(*input));
    }
    Node* const copy = copier.copy(node);
    const Tensor exact = *copy->input(1)->constant();
    Value* const weights = passes::quantized_weights(*copy, copy->input(1), candidate.weight_axis);
    if (!weights) return std::nullopt;
    copy->set_input(1, weights);
    Value* const result = copy->output();
    result->type = Type::unranked(result->type.dtype());
    graph_->add_output(fmt::format("{}{}", node_output, candidate.node), result);
    add_means(candidate, *rounded_.at(&x), x);
    const Node& stored = *weights->producer();
    return passes::WeightSums(exact, *stored.input(0)->constant(), *stored.input(1)->constant(),
                              candidate.weight_axis, node.attributes.integer("group", 1));
  }

  std::unique_ptr<Graph> take() {
    infer_types(*graph_);
    return std::move(graph_);
  }

private:
  /// Outputs of the means by channel of what a candidate reads, once for each channel axis.
  void add_means(const passes::Int8Candidate& candidate, Value& rounded, const Value& x) {
    const std::string name = Int8Trials::mean_name(candidate);
    const auto rank = static_cast<std::int64_t>(x.type.rank());
    if (rank < 2 || !means_.insert(name).second) return;
    const std::int64_t axis = candidate.channel_axis(rank);
    graph_->add_output(fmt::format("{}{}", exact_output, name),
                       passes::channel_means(*graph_, *exact_.at(&x), axis));
    graph_->add_output(fmt::format("{}{}", rounded_output, name),
                       passes::channel_means(*graph_, rounded, axis));
  }

  Value* constant(const Value& value) {
    Value*& made = constants_[&value];
    if (!made) {
      NodeCopier copier(graph_->body());
      made = copier.copy(*value.producer())->output();
    }
    return made;
  }

  Value* rounded(const Value& x, bool negative) {
    Value*& made = rounded_[&x];
    if (made) return made;
    Value* const value = graph_->add_input(value_input(x.name()), with_own_sizes(*graph_, x.type));
    exact_[&x] = value;
    Value* const scale = graph_->add_input(scale_input(x.name()), Type(DType::f32, Dims{}));
    return made = passes::rounded_by(*graph_, *value, *scale, negative);
  }

  const Graph& from_;
  std::unique_ptr<Graph> graph_;
  std::map<const Value*, Value*> exact_, rounded_, constants_;
  std::set<std::string> means_; ///< Names of those that are outputs.
};

} // namespace

Int8Trials::Int8Trials(const Graph& graph, const std::vector<passes::Int8Candidate>& candidates,
                       const std::map<std::string, bool>& negative, const BuildOptions& options,
                       const Target& target)
    : negative_(negative) {
  TrialGraph trials(graph);
  for (const passes::Int8Candidate& candidate : candidates)
    if (auto weights = trials.add(candidate, negative.at(candidate.input)))
      weights_.emplace(candidate.node, std::move(*weights));
  if (!weights_.empty())
    run_ = std::make_unique<GraphRun>(*trials.take(), std::vector<std::string>{}, options, target);
}

std::string Int8Trials::mean_name(const passes::Int8Candidate& candidate) {
  return fmt::format("{}:{}", candidate.weight_axis, candidate.input);
}

Int8Trials::Results Int8Trials::run(const std::map<std::string, Tensor>& values,
                                    const std::map<std::string, double>& thresholds, const Control& control) {
  Results results;
  if (!run_) return results;
  std::map<std::string, Item> inputs;
  for (const auto& [name, negative] : negative_) {
    inputs.emplace(value_input(name), values.at(name));
    const double scale = passes::StoredScale::of(thresholds.at(name), negative).scale;
    inputs.emplace(scale_input(name), Tensor::scalar(static_cast<float>(scale)));
  }
  for (const auto& [name, tensor] : run_->run(inputs, control).outputs)
    for (const auto& [prefix, list] :
         {std::pair{node_output, &results.nodes}, std::pair{exact_output, &results.exact_means},
          std::pair{rounded_output, &results.rounded_means}})
      if (name.starts_with(prefix)) list->emplace(name.substr(prefix.size()), tensor);
  return results;
}

} // namespace lanner
