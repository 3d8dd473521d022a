#pragma once
// How nodes name their inputs: `node:1` in a graph, `node:result:1` in a function, `^node` for a control
// edge.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "importers/import_graph.h"

namespace lanner::tensorflow {

/// The node that a reference names; nothing for a control edge.
std::string node_of(std::string_view reference);
/// `node` for result 0, else `node:i`.
std::string tensor_name(std::string_view node, std::int64_t i);

/// Output numbers by name, for each function.
using FunctionOutputs = std::map<std::string, std::map<std::string, std::int64_t, std::less<>>, std::less<>>;

/// The number of the first result that a name of a node's results stands for; 0 where it is not known.
std::int64_t first_result(const ImportNode& node, const std::string& argument,
                          const FunctionOutputs& functions);

/// Converts the nodes of one graph or function: every input and output becomes a tensor's name.
class References {
public:
  enum class Form : std::uint8_t { in_graph, in_function };
  References(const FunctionOutputs& functions, Form form) : functions_(functions), form_(form) {}

  /// Results that nothing reads are named too, so that people can ask for them, if the node's name has at
  /// most this many bytes: a long name times many results would take more bytes than the file has.
  static constexpr std::size_t longest_unread_name = 200;

  /// Drops control edges, except those between nodes that touch state (state.h), and every node that no
  /// result depends on, except inputs of the graph; turns function calls into nodes of their own domain.
  /// Returns the results' tensor names.
  std::vector<std::string> resolve(std::vector<ImportNode>& nodes, std::vector<std::string> results);

private:
  std::string resolved(const std::string& reference);
  bool keeps_order(const ImportNode& node) const;
  std::vector<std::string> controls_of(const ImportNode& node, const std::set<std::string_view>& kept) const;
  void find_behind_controls(const std::vector<ImportNode>& nodes);
  void call_functions(std::vector<ImportNode>& nodes) const;

  const FunctionOutputs& functions_;
  Form form_;
  std::map<std::string, const ImportNode*, std::less<>> nodes_;
  /// Nodes that touch no state and that wait for control edges, their own or of what they read.
  std::set<const ImportNode*> behind_controls_;
  /// By node of an operator that nothing describes: the name by which its results are read, which is one.
  std::map<std::string, std::string, std::less<>> unknown_;
};

} // namespace lanner::tensorflow
