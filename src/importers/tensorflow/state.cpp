#include "importers/tensorflow/state.h"

#include <algorithm>

#include "base/limits/account.h"
#include "importers/tensorflow/node_outputs.h"
#include "importers/tensorflow/node_references.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

using Nodes = std::map<std::string_view, const ImportNode*>;

/// The node that a reference names, a control edge's too.
std::string source_of(std::string reference) {
  if (reference.starts_with('^')) reference.erase(0, 1);
  return node_of(reference);
}

bool is_foreign(const ImportNode& node) {
  return operator_rules().find(node.op) == operator_rules().end() || is_refused(node.op);
}

/// Whether a node that nothing here runs has no results: it runs for what it does.
bool only_acts(const ImportNode& node) {
  static const NodeNames silent{"NoOp", "Assert", "Print", "PrintV2"};
  if (!is_foreign(node) || silent.contains(node.op)) return false;
  return knows_results(node.op) || node.attributes.contains(results_attribute)
             ? output_arguments(node).empty()
             : node.op.starts_with("LookupTableInsert") || node.op.starts_with("LookupTableRemove");
}

/// Calls `visit` once with each node on which these references depend.
template<typename Visit>
void visit_sources(const std::vector<ImportNode>& nodes, std::vector<std::string> references, Visit visit) {
  Nodes by_name;
  for (const ImportNode& node : nodes) by_name.emplace(node.name, &node);
  NodeNames seen;
  while (!references.empty()) {
    check_deadline();
    const std::string name = source_of(std::move(references.back()));
    references.pop_back();
    const auto node = by_name.find(name);
    if (node == by_name.end() || !seen.insert(name).second) continue;
    visit(*node->second);
    references.insert(references.end(), node->second->inputs.begin(), node->second->inputs.end());
  }
}

/// Effects of one graph, from these references on.
std::vector<std::string> effects_among(const std::vector<ImportNode>& nodes, std::vector<std::string> waiting,
                                       const NodeNames& writers, bool all) {
  std::vector<std::string> found;
  visit_sources(nodes, std::move(waiting), [&](const ImportNode& node) {
    const auto calls = called_functions(node);
    const bool acts =
        writes_variable(node) || (all && only_acts(node)) ||
        std::ranges::any_of(calls, [&](const auto& called) { return writers.contains(called); });
    if (acts) found.push_back(node.name);
  });
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> ends_of(const FunctionRecord& function) {
  std::vector<std::string> ends = function.effects;
  for (const auto& [output, tensor] : function.results) ends.push_back(tensor);
  return ends;
}

/// Follows handles of variables through graphs and functions to what writes them.
class HandleFlow {
public:
  explicit HandleFlow(const std::vector<FunctionRecord>& functions) {
    std::vector<Readers> readers;
    for (const FunctionRecord& function : functions) {
      functions_.emplace(function.name, &function);
      readers.push_back(readers_of(function.nodes, nullptr));
    }
    for (bool more = true; more;) {
      more = false;
      for (std::size_t f = 0; f < functions.size(); ++f)
        for (std::size_t i = 0; i < functions[f].inputs.size(); ++i)
          if (!written_.contains({functions[f].name, i}) && is_written(readers[f], functions[f].inputs[i]))
            more = written_.insert({functions[f].name, i}).second;
    }
  }

  struct Reader {
    const ImportNode* node;
    std::size_t input;
  };
  using Readers = std::map<std::string, std::vector<Reader>, std::less<>>;

  static Readers readers_of(const std::vector<ImportNode>& nodes, const NodeNames* kept) {
    Readers readers;
    for (const ImportNode& node : nodes) {
      if (kept && !kept->contains(node.name)) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (!node.inputs[i].starts_with('^')) readers[node_of(node.inputs[i])].push_back({&node, i});
    }
    return readers;
  }

  bool is_written(const Readers& readers, const std::string& origin, bool by_handle = true) const {
    std::vector<std::string> waiting{origin};
    NodeNames seen;
    while (!waiting.empty()) {
      check_deadline();
      const std::string name = std::move(waiting.back());
      waiting.pop_back();
      const auto found = readers.find(name);
      if (found == readers.end() || !seen.insert(name).second) continue;
      for (const Reader& reader : found->second) {
        if (writes(reader, by_handle)) return true;
        if (passes_on(*reader.node)) waiting.push_back(reader.node->name);
      }
    }
    return false;
  }

private:
  static bool passes_on(const ImportNode& node) {
    static const NodeNames passing{"Identity", "IdentityN", "Switch",   "RefSwitch", "Merge",  "RefMerge",
                                   "Enter",    "RefEnter",  "Snapshot", "Exit",      "RefExit"};
    return passing.contains(node.op);
  }

  bool writes(const Reader& reader, bool by_handle) const {
    const ImportNode& node = *reader.node;
    bool calls = false;
    for (const std::string& called : called_functions(node)) {
      if (!functions_.contains(called)) continue;
      calls = true;
      const bool chooses = node.op.ends_with("If") || node.op.ends_with("Case");
      if (chooses && reader.input == 0) continue;
      if (written_.contains({called, reader.input - (chooses ? 1 : 0)})) return true;
    }
    if (writes_variable(node)) return reader.input == 0 || !node.op.starts_with("Assign");
    return by_handle && !calls && !reads_variable(node) && !passes_on(node) && is_foreign(node);
  }

  std::map<std::string_view, const FunctionRecord*> functions_;
  std::set<std::pair<std::string, std::size_t>> written_; ///< Arguments of functions.
};

} // namespace

bool is_variable(const ImportNode& node) {
  return node.op == "VarHandleOp" || node.op == "VariableV2" || node.op == "Variable";
}

bool writes_variable(const ImportNode& node) {
  return node.op.starts_with("Assign") || node.op.starts_with("ResourceApply") ||
         node.op.starts_with("ResourceScatter") || node.op.starts_with("Apply");
}

bool initialises_table(const ImportNode& node) {
  return node.op.starts_with("InitializeTable") || node.op.starts_with("LookupTableImport");
}

bool reads_variable(const ImportNode& node) {
  static const NodeNames readers{"ReadVariableOp", "ResourceGather",     "ResourceGatherNd",
                                 "VariableShape",  "VarIsInitializedOp", "IsVariableInitialized"};
  return readers.contains(node.op);
}

bool touches_state(const ImportNode& node) {
  return writes_variable(node) || reads_variable(node) || node.op.starts_with("LookupTable") ||
         (is_foreign(node) && (only_acts(node) || node.attributes.contains(stateful_attribute)));
}

std::vector<std::string> called_functions(const ImportNode& node) {
  std::vector<std::string> called{node.op};
  for (const auto& [name, attribute] : node.attributes) {
    if (attribute.kind == 10)
      if (const auto* function = std::get_if<std::string>(&attribute.value)) called.push_back(*function);
    if (attribute.kind == ImportAttribute::list_kind + 10)
      if (const auto* list = std::get_if<std::vector<std::string>>(&attribute.value))
        called.insert(called.end(), list->begin(), list->end());
  }
  if (called.size() > 1) called.erase(called.begin());
  return called;
}

NodeNames dependencies(const std::vector<ImportNode>& nodes, std::vector<std::string> references) {
  NodeNames names;
  visit_sources(nodes, std::move(references), [&](const ImportNode& node) { names.insert(node.name); });
  return names;
}

Effects effects_of(const GraphRecord& graph, const std::vector<std::string>& results, bool all) {
  Effects effects;
  NodeNames writers;
  for (bool more = true; more;) {
    more = false;
    for (const FunctionRecord& function : graph.functions) {
      if (writers.contains(function.name)) continue;
      if (!effects_among(function.nodes, ends_of(function), writers, all).empty())
        more = writers.insert(function.name).second;
    }
  }
  for (const FunctionRecord& function : graph.functions)
    if (writers.contains(function.name))
      effects.functions[function.name] = effects_among(function.nodes, ends_of(function), writers, all);
  effects.graph = effects_among(graph.nodes, results, writers, all);
  return effects;
}

NodeNames written_variables(const GraphRecord& graph, const NodeNames& kept) {
  const HandleFlow flow(graph.functions);
  const auto readers = HandleFlow::readers_of(graph.nodes, &kept);
  NodeNames written;
  for (const ImportNode& node : graph.nodes)
    if (is_variable(node) && kept.contains(node.name) &&
        flow.is_written(readers, node.name, node.op == "VarHandleOp"))
      written.insert(node.name);
  return written;
}

void add_initial(const GraphRecord& graph, const NodeNames& kept, NodeNames& live,
                 const std::vector<std::string>& initial, SourceLibrary& library) {
  Nodes by_name;
  for (const ImportNode& node : graph.nodes) by_name.emplace(node.name, &node);
  NodeNames added, roots;
  std::vector<std::string> waiting = initial;
  while (!waiting.empty()) { // the groups that NoOps make
    const std::string name = source_of(std::move(waiting.back()));
    waiting.pop_back();
    const auto node = by_name.find(name);
    if (node == by_name.end() || !roots.insert(name).second) continue;
    if (node->second->op == "NoOp") {
      waiting.insert(waiting.end(), node->second->inputs.begin(), node->second->inputs.end());
      continue;
    }
    const NodeNames needed = dependencies(graph.nodes, {name});
    const bool concerns = std::ranges::any_of(needed, [&](const std::string& each) {
      const ImportNode& one = *by_name.at(each);
      return kept.contains(each) && is_foreign(one) && one.op != "NoOp" && !is_variable(one);
    });
    if (!concerns) continue;
    library.initialisers.push_back(name);
    added.insert(needed.begin(), needed.end());
  }
  NodeNames assigned; // paths of assets, for one
  for (const ImportNode& node : graph.nodes)
    if (added.contains(node.name) && node.op.starts_with("Assign") && !node.inputs.empty())
      assigned.insert(node_of(node.inputs[0]));
  for (const ImportNode& node : graph.nodes) {
    if (!added.contains(node.name)) continue;
    if (is_variable(node) && !assigned.contains(node.name))
      live.insert(node.name);
    else
      library.initial.push_back(node);
  }
}

void add_first_value(const ImportNode& variable, const Tensor& value, SourceLibrary& library) {
  ImportNode node = variable;
  node.inputs.clear();
  library.initial.push_back(node);
  ImportNode constant{variable.name + "/lanner_value", "Const", {}, {}, {}, {}, {}, {}, {}};
  constant.attributes["value"] = {value, {}, 8};
  ImportNode assign{variable.name + assignment_suffix, "AssignVariableOp", {}, {}, {}, {}, {}, {}, {}};
  assign.inputs = {variable.name, constant.name};
  const auto type = variable.attributes.find("dtype");
  if (variable.op != "VarHandleOp") assign.op = "Assign";
  if (type != variable.attributes.end())
    assign.attributes[variable.op == "VarHandleOp" ? "dtype" : "T"] = type->second;
  library.initial.push_back(std::move(constant));
  library.initialisers.push_back(assign.name);
  library.initial.push_back(std::move(assign));
}

} // namespace lanner::tensorflow
