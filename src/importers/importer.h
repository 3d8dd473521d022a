#pragma once
// Imports models of any supported format to a Graph.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>
#include <lanner/tensorflow_options.h>

#include "graph/graph.h"

namespace lanner {

struct ImportOptions {
  const OpTable& ops;
  std::filesystem::path
      folder; ///< The model's folder, for external weight files; empty: external data is refused.
  Limits limits;
  SourcePtr weights = nullptr; ///< Trained weights of a model whose own file has none (Caffe).
  /// Called with each external file below `folder` before it is read.
  std::function<void(const std::filesystem::path&)> on_data_file = {};
  std::vector<std::string> outputs = {}; ///< As BuildOptions::outputs.
  /// Initialisers to turn into graph inputs: graph inputs of these names exist. Others become constants.
  std::set<std::string> overridden = {};
  TensorFlowOptions tensorflow = {};
  std::string name = {};          ///< Of the source, set by import_model().
  /// Called for each initialiser of the outermost graph: its value, and the graph input of its name or null.
  std::function<void(const std::string&, const Tensor&, const Type*)> on_initialiser = {};
};

/// The name of the format that the bytes look like.
std::optional<std::string_view> format_of(std::span<const std::byte> bytes);

/// Reads a model, whose format is detected from its content. The graph is inferred and verified, not
/// optimised; it keeps views of `source`, which is read once from the start (a pipe works). Throws
/// Error{bad_data, unsupported, limit_exceeded} that names the position in the file and the node.
std::unique_ptr<Graph> import_model(const SourcePtr& source, const ImportOptions& options);

} // namespace lanner
