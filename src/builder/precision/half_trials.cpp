#include "builder/precision/half_trials.h"

#include <algorithm>

#include "graph/copy.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "passes/rewriting/rounding.h"

namespace lanner {
namespace {

bool is_f32(const Value& value) {
  return value.type.is_tensor() && value.type.ranked() && value.type.dtype() == DType::f32;
}

std::string value_input(const std::string& value) {
  return "value:" + value;
}

/// The candidates of one graph, each alone.
class TrialGraph {
public:
  TrialGraph(const Graph& from, DType type)
      : from_(from), type_(type), graph_(std::make_unique<Graph>(from.ops(), "halves")) {}

  void add(const HalfCandidate& candidate) {
    const Node& node = *from_.find(candidate.node)->producer();
    NodeCopier copier(graph_->body());
    for (const Value* input : node.inputs())
      if (input) copier.map(input, operand(*input, node));
    Value* const result = copier.copy(node)->output();
    result->type = Type::unranked(DType::f32); // its dims may be symbols of the other graph
    graph_->add_output(candidate.node, rounded(*result));
  }

  std::unique_ptr<Graph> take() {
    infer_types(*graph_);
    return std::move(graph_);
  }

private:
  /// Weights are rounded too; biases, scales and single numbers stay f32 in the kernels.
  static bool is_rounded(const Value& value, const Node& reader) {
    if (!is_f32(value)) return false;
    return !value.constant() || (pattern_of(reader) == Pattern::contraction && value.type.rank() > 1);
  }

  Value* operand(const Value& value, const Node& reader) {
    const bool round = is_rounded(value, reader);
    Value*& made = operands_[{&value, round}];
    if (made) return made;
    Value* plain = nullptr;
    if (value.constant()) {
      NodeCopier copier(graph_->body());
      plain = copier.copy(*value.producer())->output();
    } else {
      Dims dims;
      for (const Dim& dim : value.type.dims())
        dims.push_back(dim.constant() ? dim : graph_->fresh_symbol("d", INT64_MAX));
      plain = graph_->add_input(value_input(value.name()), Type(value.type.dtype(), dims));
    }
    return made = round ? rounded(*plain) : plain;
  }

  Value* rounded(Value& value) { return passes::rounded_through(*graph_, value, type_); }

  const Graph& from_;
  DType type_;
  std::unique_ptr<Graph> graph_;
  std::map<std::pair<const Value*, bool>, Value*> operands_;
};

/// Whether all that the node reads is constant or a real of the run.
bool reads_reals(const Node& node) {
  bool any = false;
  for (const Value* input : node.inputs()) {
    if (!input || input->constant()) continue;
    if (!is_f32(*input)) return false;
    any = true;
  }
  return any;
}

bool is_candidate(const Node& node) {
  const bool alone = node.regions().empty() && node.captures() == 0 && node.outputs().size() == 1;
  return alone && !is_constant(node) && !only_moves(node) && pattern_of(node) != Pattern::generation &&
         is_f32(*node.output()) && reads_reals(node);
}

} // namespace

std::vector<HalfCandidate> half_candidates(const Graph& graph) {
  std::vector<HalfCandidate> list;
  for (const auto& node : graph.body().nodes()) {
    if (!is_candidate(*node)) continue;
    HalfCandidate candidate{node->output()->name(), {}};
    for (const Value* input : node->inputs())
      if (input && !input->constant() &&
          std::ranges::find(candidate.values, input->name()) == candidate.values.end())
        candidate.values.push_back(input->name());
    list.push_back(std::move(candidate));
  }
  return list;
}

HalfTrials::HalfTrials(const Graph& graph, const std::vector<HalfCandidate>& candidates, DType type,
                       const BuildOptions& options, const Target& target) {
  TrialGraph trials(graph, type);
  for (const HalfCandidate& candidate : candidates) {
    trials.add(candidate);
    for (const std::string& value : candidate.values)
      if (std::ranges::find(values_, value) == values_.end()) values_.push_back(value);
  }
  run_ = std::make_unique<GraphRun>(*trials.take(), std::vector<std::string>{}, options, target);
}

std::map<std::string, Tensor> HalfTrials::run(const std::map<std::string, Tensor>& values,
                                              const Control& control) {
  std::map<std::string, Item> inputs;
  for (const std::string& value : values_) inputs.emplace(value_input(value), values.at(value));
  return run_->run(inputs, control).outputs;
}

} // namespace lanner
