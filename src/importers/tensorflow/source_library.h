#pragma once
// What TensorFlow needs of a model, besides its graph, to run the nodes that stay its own.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/source.h>

#include "importers/import_graph.h"

namespace lanner::tensorflow {

/// A file of the folder `assets/`, whose path a constant of the graph gets when TensorFlow loads the model.
struct AssetFile {
  std::string tensor, file;
};

/// Nodes of TensorFlow 1's control flow.
struct DataflowNodes {
  std::vector<ImportNode> nodes;              ///< As written, with control edges.
  std::map<std::string, std::string> results; ///< Name of the node that gives each result, by its value.
};
/// By the node If or While that structure_dataflow() made of them.
using Originals = std::map<std::string, DataflowNodes, std::less<>>;

struct SourceLibrary {
  /// FunctionDef messages by name, in memory that `owners` keep.
  std::map<std::string, std::string_view, std::less<>> functions;
  std::vector<std::shared_ptr<const void>> owners;
  bool text = false;             ///< The file is text: it has no messages.
  std::string signature;         ///< The name of the one that was read; empty: the model has none.
  std::vector<std::string> tags; ///< Of the graph that was read.
  /// Nodes as written, their inputs too, that give tables their entries and variables their first values.
  std::vector<ImportNode> initial;
  std::vector<std::string> initialisers; ///< Those of `initial` to run when the model is loaded.
  std::vector<AssetFile> assets;
  Originals dataflow;
};

} // namespace lanner::tensorflow
