#include "importers/tensorflow/control_flow/loop_functions.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/limits/account.h"
#include "importers/tensorflow/graph_def.h"

namespace lanner::tensorflow {
namespace {

using Graphs = std::map<std::string, std::shared_ptr<ImportGraph>, std::less<>>;

bool stands_alone(const ImportNode& node) {
  return std::ranges::all_of(node.attributes, [](const auto& entry) {
    return entry.second.reference.empty() &&
           !std::holds_alternative<std::shared_ptr<ImportGraph>>(entry.second.value);
  });
}

/// A function as a graph, whose values have names that no graph around it has. Null where its nodes depend on
/// more than its inputs.
std::shared_ptr<ImportGraph> graph_of(const std::string& name, const ImportFunction& function) {
  if (!std::ranges::all_of(function.nodes, stands_alone)) return nullptr;
  const auto own = [&](const std::string& value) {
    count_bytes(sizeof(std::string) + name.size() + value.size());
    return value.empty() ? value : name + "|" + value;
  };
  auto graph = std::make_shared<ImportGraph>();
  graph->name = name;
  for (const std::string& input : function.inputs) graph->inputs.push_back({own(input), {}});
  for (const std::string& output : function.outputs) graph->outputs.push_back({own(output), {}});
  for (const ImportNode& node : function.nodes) {
    check_deadline();
    count_bytes(sizeof(ImportNode));
    ImportNode& copy = graph->nodes.emplace_back(node);
    for (std::string& input : copy.inputs) input = own(input);
    for (std::string& output : copy.outputs) output = own(output);
  }
  return graph;
}

class Embedding {
public:
  explicit Embedding(const ImportModel& model) : model_(model) {}

  /// Finds the graphs of the loops among these nodes; they are set once all are found.
  void find(std::vector<ImportNode>& nodes) {
    for (ImportNode& node : nodes) {
      check_deadline();
      if (!node.domain.empty() || (node.op != "While" && node.op != "StatelessWhile")) continue;
      const auto condition = graph(node, "cond"), body = graph(node, "body");
      if (condition && body) found_.push_back({&node, condition, body});
    }
  }

  void set() {
    for (Loop& loop : found_) {
      loop.node->attributes["cond"].value = std::move(loop.condition);
      loop.node->attributes["body"].value = std::move(loop.body);
    }
  }

private:
  struct Loop {
    ImportNode* node;
    std::shared_ptr<ImportGraph> condition, body;
  };

  std::shared_ptr<ImportGraph> graph(const ImportNode& node, const char* attribute) {
    const auto given = node.attributes.find(attribute);
    const auto* name =
        given == node.attributes.end() ? nullptr : std::get_if<std::string>(&given->second.value);
    if (!name) return nullptr;
    const auto [known, added] = graphs_.try_emplace(*name);
    const auto function = model_.functions.find(std::string(function_domain) + "." + *name);
    if (added && function != model_.functions.end()) known->second = graph_of(*name, function->second);
    return known->second;
  }

  const ImportModel& model_;
  Graphs graphs_;
  std::vector<Loop> found_;
};

} // namespace

void embed_loop_functions(ImportModel& model) {
  Embedding embedding(model);
  embedding.find(model.graph.nodes);
  for (auto& [name, function] : model.functions) embedding.find(function.nodes);
  embedding.set();
}

} // namespace lanner::tensorflow
