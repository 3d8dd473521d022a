#include "builder/int8/int8_trials.h"

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

  /// False: its weights cannot be quantised.
  bool add(const passes::Int8Candidate& candidate, bool negative) {
    const Node& node = *from_.find(candidate.node)->producer();
    const Value& x = *node.input(0);
    NodeCopier copier(graph_->body());
    copier.map(&x, rounded(x, negative));
    for (std::size_t i = 1; i < node.inputs().size(); ++i) {
      const Value* const input = node.input(i);
      if (!input) continue;
      if (!input->constant()) return false;
      copier.map(input, constant(*input));
    }
    Node* const copy = copier.copy(node);
    Value* const weights = passes::quantized_weights(*copy, copy->input(1), candidate.weight_axis);
    if (!weights) return false;
    copy->set_input(1, weights);
    Value* const result = copy->output();
    result->type = Type::unranked(result->type.dtype());
    graph_->add_output(candidate.node, result);
    return true;
  }

  std::unique_ptr<Graph> take() {
    infer_types(*graph_);
    return std::move(graph_);
  }

private:
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
    Value* const scale = graph_->add_input(scale_input(x.name()), Type(DType::f32, Dims{}));
    return made = passes::rounded_by(*graph_, *value, *scale, negative);
  }

  const Graph& from_;
  std::unique_ptr<Graph> graph_;
  std::map<const Value*, Value*> rounded_, constants_;
};

} // namespace

Int8Trials::Int8Trials(const Graph& graph, const std::vector<passes::Int8Candidate>& candidates,
                       const std::map<std::string, bool>& negative, const BuildOptions& options,
                       const Target& target)
    : negative_(negative) {
  TrialGraph trials(graph);
  bool any = false;
  for (const passes::Int8Candidate& candidate : candidates)
    any = trials.add(candidate, negative.at(candidate.input)) || any;
  if (any) run_ = std::make_unique<GraphRun>(*trials.take(), std::vector<std::string>{}, options, target);
}

std::map<std::string, Tensor> Int8Trials::run(const std::map<std::string, Tensor>& values,
                                              const std::map<std::string, double>& thresholds,
                                              const Control& control) {
  if (!run_) return {};
  std::map<std::string, Item> inputs;
  for (const auto& [name, negative] : negative_) {
    inputs.emplace(value_input(name), values.at(name));
    const double scale = passes::StoredScale::of(thresholds.at(name), negative).scale;
    inputs.emplace(scale_input(name), Tensor::scalar(static_cast<float>(scale)));
  }
  return run_->run(inputs, control).outputs;
}

} // namespace lanner
