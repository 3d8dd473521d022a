#pragma once
// The nodes of a converted model that stay TensorFlow's, as they are written.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tf/convert/division.h"
#include "tf/write/saved_model.h"

namespace lanner::tf {

/// Writes native nodes, the constants that they read, the functions that they call, and what gives tables and
/// variables their first values.
class NativeGraph {
public:
  /// `results`: references to the results of engines, by value. They outlive this, as the division does.
  NativeGraph(const Division& division, const std::map<std::string, std::string>& results,
              MetaGraphRecord& meta);

  void add_nodes();
  /// How a value is read in the graph that is written: `node`, `node:1`. What it needs is written too.
  std::string reference(const std::string& value);
  /// Control edges from nodes that run though nothing reads them.
  std::vector<std::string> effects() const;
  /// Nodes that run when the model is loaded (the collection saved_model_main_op), and the assets that they
  /// read. After all references.
  void add_initial();

  using Names = std::set<std::string, std::less<>>;
  /// Functions of the model's library that are written.
  Names& functions() { return functions_; }

private:
  void add_node(const ImportNode& node);
  void add_dataflow(const ImportNode& node);
  void add_constant(std::uint32_t node);
  void write(NodeRecord record);
  const std::string& content_hash();
  void write_called(const ImportNode& node);
  std::string outer_reference(const std::string& written, bool takes_handle);
  std::string handle_of(const ImportNode& variable);
  const ImportNode* variable_behind(const std::string& value) const;
  std::string input_reference(const ImportNode& node, const std::string& value);

  const Division& division_;
  const FlatIndex& index_;
  const tensorflow::SourceLibrary& library_;
  const std::map<std::string, std::string>& results_;
  MetaGraphRecord& meta_;
  std::map<std::string, std::string, std::less<>> replaced_; ///< Results of control flow as written.
  Names dataflow_, written_, functions_, handles_;
  std::vector<std::string> initialisers_;
  std::string content_hash_; ///< Empty: not made yet.
  bool has_unnamed_ = false; ///< Whether a variable is written that has no name to share it by.
};

} // namespace lanner::tf
