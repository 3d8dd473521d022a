#include "importers/tensorflow/state.h"

#include <algorithm>

#include "base/limits/account.h"
#include "importers/tensorflow/node_outputs.h"
#include "importers/tensorflow/node_references.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

using Nodes = std::map<std::string_view, const ImportNode*>;

/// Whether a node that is given a reference to a variable as its first input gives one too.
bool gives_reference(const ImportNode& node) {
  const bool by_handle = node.op.ends_with("VariableOp") || node.op.starts_with("Resource");
  return (writes_variable(node) && !by_handle) || node.op.starts_with("Ref");
}

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

/// Attributes that name functions, and lists of them.
bool names_functions(const ImportAttribute& attribute) {
  return attribute.kind == 10 || attribute.kind == ImportAttribute::list_kind + 10;
}

/// Whether a node calls functions of TensorFlow 2 that may use state: TensorFlow gives those that do not an
/// operator of their own, StatelessIf for one.
bool calls_with_state(const ImportNode& node) {
  static const NodeNames calling{"If", "While", "Case"};
  return calling.contains(node.op) && std::ranges::any_of(node.attributes, [](const auto& entry) {
           return names_functions(entry.second);
         });
}

Nodes by_name_of(const std::vector<ImportNode>& nodes) {
  Nodes by_name;
  for (const ImportNode& node : nodes) by_name.emplace(node.name, &node);
  return by_name;
}

/// Calls `visit` once with each node on which these references depend.
template<typename Visit>
void visit_sources(const Nodes& by_name, std::vector<std::string> references, Visit visit) {
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

bool acts(const ImportNode& node, bool all) {
  return writes_variable(node) || (all && only_acts(node));
}

/// Effects of one graph, from these references on.
std::vector<std::string> effects_among(const std::vector<ImportNode>& nodes, std::vector<std::string> waiting,
                                       const NodeNames& writers, bool all) {
  std::vector<std::string> found;
  visit_sources(by_name_of(nodes), std::move(waiting), [&](const ImportNode& node) {
    const auto calls = called_functions(node);
    const bool calls_writer =
        std::ranges::any_of(calls, [&](const auto& called) { return writers.contains(called); });
    if (acts(node, all) || calls_writer) found.push_back(node.name);
  });
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> ends_of(const FunctionRecord& function) {
  std::vector<std::string> ends = function.effects;
  for (const auto& [output, tensor] : function.results) ends.push_back(tensor);
  return ends;
}

/// Functions that have effects, of their own or by functions that they call.
NodeNames functions_with_effects(const std::vector<FunctionRecord>& functions, bool all) {
  NodeNames known, found;
  for (const FunctionRecord& function : functions) known.insert(function.name);
  std::map<std::string, NodeNames, std::less<>> callers;
  std::vector<std::string> waiting;
  for (const FunctionRecord& function : functions) {
    bool has_own = false;
    visit_sources(by_name_of(function.nodes), ends_of(function), [&](const ImportNode& node) {
      has_own = has_own || acts(node, all);
      for (const std::string& called : called_functions(node))
        if (known.contains(called)) callers[called].insert(function.name);
    });
    if (has_own) waiting.push_back(function.name);
  }
  while (!waiting.empty()) {
    check_deadline();
    const std::string name = std::move(waiting.back());
    waiting.pop_back();
    if (!found.insert(name).second) continue;
    if (const auto of_this = callers.find(name); of_this != callers.end())
      waiting.insert(waiting.end(), of_this->second.begin(), of_this->second.end());
  }
  return found;
}

/// Follows handles of variables through graphs and functions to what writes them.
class HandleFlow {
public:
  /// An argument of a function, by the function's name and its number.
  using Argument = std::pair<std::string, std::size_t>;

  explicit HandleFlow(const std::vector<FunctionRecord>& functions) {
    for (const FunctionRecord& function : functions) functions_.insert(function.name);
    std::map<Argument, std::vector<Argument>> givers;
    std::vector<Argument> waiting;
    for (const FunctionRecord& function : functions) {
      const Readers readers = readers_of(function.nodes, nullptr);
      for (std::size_t i = 0; i < function.inputs.size(); ++i) {
        std::vector<Argument> given;
        if (is_written(readers, function.inputs[i], true, &given)) waiting.emplace_back(function.name, i);
        for (Argument& argument : given) givers[std::move(argument)].emplace_back(function.name, i);
      }
    }
    while (!waiting.empty()) {
      check_deadline();
      const Argument argument = std::move(waiting.back());
      waiting.pop_back();
      if (!written_.insert(argument).second) continue;
      if (const auto of_this = givers.find(argument); of_this != givers.end())
        waiting.insert(waiting.end(), of_this->second.begin(), of_this->second.end());
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

  /// `given`: gets the arguments of functions that the handle is given to.
  bool is_written(const Readers& readers, const std::string& origin, bool by_handle,
                  std::vector<Argument>* given = nullptr) const {
    std::vector<std::string> waiting{origin};
    NodeNames seen;
    while (!waiting.empty()) {
      check_deadline();
      const std::string name = std::move(waiting.back());
      waiting.pop_back();
      const auto found = readers.find(name);
      if (found == readers.end() || !seen.insert(name).second) continue;
      for (const Reader& reader : found->second) {
        const std::vector<Argument> arguments = arguments_of(reader);
        if (given) given->insert(given->end(), arguments.begin(), arguments.end());
        if (writes(reader, arguments, by_handle)) return true;
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

  /// The arguments of functions that a node gives what it reads.
  std::vector<Argument> arguments_of(const Reader& reader) const {
    std::vector<Argument> arguments;
    const bool chooses = reader.node->op.ends_with("If") || reader.node->op.ends_with("Case");
    if (chooses && reader.input == 0) return arguments;
    for (std::string& called : called_functions(*reader.node))
      if (functions_.contains(called))
        arguments.emplace_back(std::move(called), reader.input - (chooses ? 1 : 0));
    return arguments;
  }

  bool writes(const Reader& reader, const std::vector<Argument>& arguments, bool by_handle) const {
    const ImportNode& node = *reader.node;
    for (const Argument& argument : arguments)
      if (written_.contains(argument)) return true;
    if (writes_variable(node)) return reader.input == 0 || !node.op.starts_with("Assign");
    return by_handle && arguments.empty() && !reads_variable(node) && !passes_on(node) && is_foreign(node);
  }

  NodeNames functions_;
  std::set<Argument> written_;
};

} // namespace

bool is_variable(std::string_view op) {
  return op == "VarHandleOp" || op == "VariableV2" || op == "Variable";
}

bool is_variable(const ImportNode& node) {
  return is_variable(node.op);
}

bool writes_variable(const ImportNode& node) {
  static const NodeNames scattering{"ScatterAdd",   "ScatterDiv",      "ScatterMax",   "ScatterMin",
                                    "ScatterMul",   "ScatterNdAdd",    "ScatterNdMax", "ScatterNdMin",
                                    "ScatterNdSub", "ScatterNdUpdate", "ScatterSub",   "ScatterUpdate"};
  return node.op.starts_with("Assign") || node.op.starts_with("ResourceApply") ||
         node.op.starts_with("ResourceScatter") || node.op.starts_with("Apply") ||
         scattering.contains(node.op);
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
         calls_with_state(node) || node.attributes.contains(reference_mark) ||
         (is_foreign(node) && (only_acts(node) || node.attributes.contains(stateful_attribute)));
}

std::vector<std::string> called_functions(const ImportNode& node) {
  std::vector<std::string> called{node.op};
  for (const auto& [name, attribute] : node.attributes) {
    if (!names_functions(attribute)) continue;
    if (const auto* function = std::get_if<std::string>(&attribute.value)) called.push_back(*function);
    if (const auto* list = std::get_if<std::vector<std::string>>(&attribute.value))
      called.insert(called.end(), list->begin(), list->end());
  }
  if (called.size() > 1) called.erase(called.begin());
  return called;
}

void mark_reference_readers(GraphRecord& graph, const NodeNames& live) {
  std::map<std::string, std::vector<ImportNode*>, std::less<>> readers;
  std::vector<std::string> waiting;
  for (ImportNode& node : graph.nodes) {
    if (is_variable(node) && node.op != "VarHandleOp" && live.contains(node.name))
      waiting.push_back(node.name);
    for (const std::string& input : node.inputs)
      if (!input.starts_with('^')) readers[node_of(input)].push_back(&node);
  }
  NodeNames seen;
  while (!waiting.empty()) {
    check_deadline();
    const std::string name = std::move(waiting.back());
    waiting.pop_back();
    const auto found = readers.find(name);
    if (found == readers.end() || !seen.insert(name).second) continue;
    for (ImportNode* node : found->second) {
      if (gives_reference(*node)) {
        if (node_of(node->inputs[0]) == name) waiting.push_back(node->name);
      } else {
        node->attributes.emplace(reference_mark, ImportAttribute{std::int64_t{1}, {}, 0});
      }
    }
  }
}

NodeNames dependencies(const std::vector<ImportNode>& nodes, std::vector<std::string> references) {
  NodeNames names;
  visit_sources(by_name_of(nodes), std::move(references),
                [&](const ImportNode& node) { names.insert(node.name); });
  return names;
}

Effects effects_of(const GraphRecord& graph, const std::vector<std::string>& results, bool all) {
  Effects effects;
  const NodeNames writers = functions_with_effects(graph.functions, all);
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
  const Nodes by_name = by_name_of(graph.nodes);
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
    NodeNames needed;
    visit_sources(by_name, {name}, [&](const ImportNode& each) { needed.insert(each.name); });
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
