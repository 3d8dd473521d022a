#pragma once
// How nodes name what they read: `node:1` in a graph, `node:result:1` in a function, `^node` for order alone.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "importers/import_graph.h"

namespace lanner::tensorflow {

/// The node that a reference names; nothing of a control edge.
std::string node_of(std::string_view reference);
/// `node` for result 0, else `node:i`.
std::string tensor_name(std::string_view node, std::int64_t i);

/// Numbers of outputs by their names, by function.
using FunctionOutputs = std::map<std::string, std::map<std::string, std::int64_t, std::less<>>, std::less<>>;

/// Brings the nodes of one graph or function into the tree's form: every input and output is a tensor's name.
class References {
public:
  enum class Form : std::uint8_t { in_graph, in_function };
  References(const FunctionOutputs& functions, Form form) : functions_(functions), form_(form) {}

  /// Bytes of a node's name up to which a result of it has a name though nothing reads it, so that people can
  /// ask for it. A long name and a large number of results make more than the file has bytes.
  static constexpr std::size_t longest_unread_name = 200;

  /// Drops control edges and every node that leads to none of `results` but inputs of the graph; makes calls
  /// of functions nodes of their own domain. Returns the results' tensor names.
  std::vector<std::string> resolve(std::vector<ImportNode>& nodes, std::vector<std::string> results);

private:
  std::string resolved(const std::string& reference) const;
  std::int64_t first_of(const ImportNode& node, const std::string& argument) const;
  void call_functions(std::vector<ImportNode>& nodes) const;

  const FunctionOutputs& functions_;
  Form form_;
  std::map<std::string, const ImportNode*, std::less<>> nodes_;
};

} // namespace lanner::tensorflow
