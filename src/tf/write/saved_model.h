#pragma once
// TensorFlow's SavedModel: the file saved_model.pb of a folder (saved_model.proto, meta_graph.proto).

#include <filesystem>

#include "tf/write/graph_def.h"

namespace lanner::tf {

/// A tensor of a signature.
struct SignatureTensor {
  std::string name; ///< Of the graph: `serving_default_x:0`.
  DataType type = DataType::f32;
  PartialShape shape;
};
struct SignatureRecord {
  std::map<std::string, SignatureTensor> inputs, outputs;
  std::string method = "tensorflow/serving/predict";
};

/// A file of the folder `assets/`, and the constant that is its path when the model is loaded.
struct AssetRecord {
  std::string tensor, file;
};

/// The nodes that save and restore the variables.
struct SaverRecord {
  std::string file_name_tensor, save_tensor, restore_node;
};

struct MetaGraphRecord {
  std::vector<std::string> tags{"serve"};
  std::string tensorflow_version; ///< For the readers' messages.
  GraphRecord graph;
  std::map<std::string, SignatureRecord> signatures;
  std::vector<AssetRecord> assets;
  std::optional<SaverRecord> saver;
  std::map<std::string, std::string> function_aliases;
  /// CollectionDefs as they were read, by the collection's name.
  std::map<std::string, RawMessage> collections;
  /// The SavedObjectGraph of a model of TensorFlow 2, as it was read; nothing: a model of 1.x.
  std::optional<RawMessage> object_graph;
};

/// The message SavedModel with one MetaGraphDef.
std::string serialized(const MetaGraphRecord& meta_graph);

/// Writes `folder`/saved_model.pb, which appears when it is complete: write the variables and assets before.
/// The folder is made where it is missing. Throws Error{io, limit_exceeded}.
void write_saved_model(const std::filesystem::path& folder, const MetaGraphRecord& meta_graph);

} // namespace lanner::tf
