#pragma once
// Writes SavedModels and MetaGraphs byte by byte (saved_model.proto, meta_graph.proto).

#include <map>
#include <string>
#include <vector>

#include "importers/graph_def_file.h"

namespace lanner::test::saved_model_file {

using onnx_file::Message;

/// A tensor of a signature; dims of -1 are unknown.
struct TensorSpec {
  std::string tensor;
  std::int64_t type = graph_def_file::f32;
  std::vector<std::int64_t> dims;
};
struct SignatureSpec {
  std::map<std::string, TensorSpec> inputs, outputs;
};
struct MetaGraphSpec {
  std::vector<Message> nodes, functions = {};
  std::map<std::string, SignatureSpec> signatures = {};
  std::vector<std::string> tags = {"serve"};
  std::vector<Message> operators = {}; ///< OpDefs.
};

/// An OpDef whose results are of the type of an attribute or, for a number, of a type.
Message operator_definition(std::string_view name,
                            const std::vector<std::pair<std::string, std::string>>& results);

Message meta_graph(const MetaGraphSpec& spec);
std::string saved_model(const std::vector<MetaGraphSpec>& graphs);

} // namespace lanner::test::saved_model_file
