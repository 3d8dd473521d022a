#pragma once
// Nodes that read or change what outlives a run: variables, tables.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "importers/tensorflow/graph_record.h"
#include "importers/tensorflow/source_library.h"

namespace lanner::tensorflow {

/// Attribute of a node whose operator the model's list of operators calls stateful.
inline constexpr const char* stateful_attribute = "_lanner_stateful";

using NodeNames = std::set<std::string, std::less<>>;

/// Attribute of a node that reads a variable of TensorFlow 1 by reference: what it gives depends on when it
/// runs.
inline constexpr const char* reference_mark = "_lanner_reads_reference";

/// Operators that write a variable.
bool writes_variable(const ImportNode& node);

/// Operators that fill a table.
bool initialises_table(const ImportNode& node);

/// Operators that read a variable by its handle, and give a tensor.
bool reads_variable(const ImportNode& node);

/// Whether the order of this node and others that use the same state matters.
bool touches_state(const ImportNode& node);

/// Nodes that run though no result needs them, and change state: those from which control edges lead to the
/// results. `all`: also operators of TensorFlow's alone that have no results. Node names, in their order.
struct Effects {
  std::map<std::string, std::vector<std::string>, std::less<>> functions; ///< By function, where it has any.
  std::vector<std::string> graph;
};
Effects effects_of(const GraphRecord& graph, const std::vector<std::string>& results, bool all);

/// Variables of the graph that a run may write: `kept` names nodes that run.
NodeNames written_variables(const GraphRecord& graph, const NodeNames& kept);

/// Marks the nodes that read variables of the graph, of those in `live`, by reference.
void mark_reference_readers(GraphRecord& graph, const NodeNames& live);

/// Nodes on which others depend, by control edges too; these included.
NodeNames dependencies(const std::vector<ImportNode>& nodes, std::vector<std::string> references);

/// The functions that a node calls, by name.
std::vector<std::string> called_functions(const ImportNode& node);

bool is_variable(std::string_view op);
bool is_variable(const ImportNode& node);

/// Of the nodes that run when TensorFlow loads the model, `initial` and those that these wait for, adds those
/// that concern state which `kept` nodes use. Variables that they need join `live`.
void add_initial(const GraphRecord& graph, const NodeNames& kept, NodeNames& live,
                 const std::vector<std::string>& initial, SourceLibrary& library);

/// The end of the name of a node that gives a variable its first value in a converted model.
inline constexpr const char* assignment_suffix = "/lanner_assign";

/// Adds nodes that give a variable its value in the checkpoint.
void add_first_value(const ImportNode& variable, const Tensor& value, SourceLibrary& library);

} // namespace lanner::tensorflow
