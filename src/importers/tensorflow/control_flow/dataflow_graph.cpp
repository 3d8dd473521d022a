#include "importers/tensorflow/control_flow/dataflow_graph.h"

#include <charconv>
#include <utility>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"

namespace lanner::tensorflow {

DataflowOp dataflow_op(const ImportNode& node) {
  static const std::map<std::string_view, DataflowOp> table{{"Switch", DataflowOp::switch_op},
                                                            {"_SwitchN", DataflowOp::switch_op},
                                                            {"Merge", DataflowOp::merge},
                                                            {"Enter", DataflowOp::enter},
                                                            {"Exit", DataflowOp::exit},
                                                            {"LoopCond", DataflowOp::loop_cond},
                                                            {"NextIteration", DataflowOp::next_iteration}};
  std::string_view op = node.op;
  if (op.starts_with("Ref")) op.remove_prefix(3);
  const auto found = table.find(op);
  return found == table.end() ? DataflowOp::none : found->second;
}

bool is_small_constant(const ImportNode* node) {
  if (!node || node->op != "Const") return false;
  const auto value = node->attributes.find("value");
  const auto* tensor = value == node->attributes.end() ? nullptr : std::get_if<Tensor>(&value->second.value);
  constexpr std::int64_t most = 16;
  return tensor && tensor->elements() <= most;
}

DataflowInput parsed_input(std::string_view reference) {
  if (reference.starts_with('^')) return {std::string(reference.substr(1)), 0, true};
  const std::size_t colon = reference.find(':');
  DataflowInput input{std::string(reference.substr(0, colon)), 0, false};
  if (colon == std::string_view::npos) return input;
  const std::string_view digits = reference.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), input.result);
  check(error == std::errc{} && end == digits.data() + digits.size() && input.result >= 0,
        ErrorCode::unsupported, "an input does not name a result by number");
  return input;
}

DataflowGraph::DataflowGraph(std::vector<ImportNode> nodes, const FunctionOutputs& functions)
    : functions_(functions) {
  for (ImportNode& node : nodes) add(std::move(node));
}

ImportNode* DataflowGraph::find(std::string_view name) {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

void DataflowGraph::add(ImportNode node) {
  check_deadline();
  const std::string name = node.name;
  if (nodes_.insert_or_assign(name, std::move(node)).second) order_.push_back(name);
}

std::string DataflowGraph::unique_name(std::string stem) const {
  while (nodes_.contains(stem)) stem += "_";
  return stem;
}

void DataflowGraph::count_copy() {
  check_deadline();
  constexpr std::size_t most = 8;
  check(++copies_ <= most * order_.size(), ErrorCode::unsupported,
        "its branches and loops share too many nodes");
}

std::set<std::string> outer_names(const ImportGraph& graph) {
  std::set<std::string> own, outer;
  for (const ImportValue& input : graph.inputs) own.insert(input.name);
  for (const ImportNode& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  const auto read = [&](const std::string& name) {
    if (!name.empty() && !own.contains(name)) outer.insert(name);
  };
  for (const ImportNode& node : graph.nodes)
    for (const std::string& name : node.inputs) read(name);
  for (const ImportValue& output : graph.outputs) read(output.name);
  return outer;
}

std::shared_ptr<ImportGraph> inner_graph(std::string name, std::vector<std::string> inputs,
                                         std::vector<ImportNode> nodes, std::vector<std::string> results,
                                         const FunctionOutputs& functions) {
  auto graph = std::make_shared<ImportGraph>();
  graph->name = std::move(name);
  for (std::string& input : inputs) graph->inputs.push_back({std::move(input), {}});
  References references(functions, References::Form::in_graph);
  for (std::string& result : references.resolve(nodes, std::move(results)))
    graph->outputs.push_back({std::move(result), {}});
  graph->nodes = std::move(nodes);
  return graph;
}

ImportNode passing(std::string name, std::vector<std::string> inputs) {
  ImportNode node;
  node.name = std::move(name);
  node.op = inputs.size() == 1 ? "Identity" : "IdentityN";
  node.inputs = std::move(inputs);
  return node;
}

} // namespace lanner::tensorflow
