#pragma once
// TensorFlow's GraphDef, binary and text, to parse trees (graph.proto, node_def.proto, function.proto).

#include <functional>

#include <lanner/limits.h>
#include <lanner/source.h>

#include "importers/import_graph.h"
#include "importers/importer.h"
#include "importers/tensorflow/graph_record.h"
#include "importers/tensorflow/source_library.h"

namespace lanner::tensorflow {

/// Whether the first bytes look like a GraphDef, binary or text.
bool looks_like_graph_def(std::span<const std::byte> bytes);

/// Domain of nodes that call a function of the model's library by name.
inline constexpr const char* function_domain = "function";

/// Attribute of a constant that is a variable's value.
inline constexpr const char* variable_mark = "_lanner_variable";

/// Inputs and outputs of a graph that names them: tensors as `node:0`, callers' names as labels.
struct GraphEnds {
  std::vector<ImportValue> inputs, outputs;
};

/// The value of the variable that a node stands for.
using VariableReader = std::function<Tensor(const ImportNode& variable)>;

/// The parse tree of a graph; moves from `record`. Without `ends` placeholders are the inputs, and nodes that
/// nothing reads the outputs. Variables that the outputs need become constants by `variables`; without it
/// they stay, and are refused later.
/// `library`: gets what TensorFlow needs to run nodes that have no rule; variables that a run may write then
/// stay, instead of being refused. `initial`: nodes that run when TensorFlow loads the model.
ImportModel model_of(GraphRecord& record, const GraphEnds* ends, const VariableReader& variables,
                     SourceLibrary* library = nullptr, const std::vector<std::string>& initial = {});

/// Takes the shapes that TensorFlow wrote from nodes of operators that the user added: these get all
/// attributes.
void drop_shapes(GraphRecord& graph, const OpTable& ops);

/// Reads a model. Placeholders are the inputs, nodes that nothing reads the outputs; nodes that lead to no
/// output are dropped, and control edges too. A tensor has the node's name, `name:i` after the first. A type
/// attribute is its number, a shape a Type of f32, a function its name. Tensors are views of the content's
/// memory where possible.
/// ImportOptions::outputs, where given, are the outputs of a model for `library`.
ImportModel read_graph_def(const Content& content, const ImportOptions& options,
                           SourceLibrary* library = nullptr);

} // namespace lanner::tensorflow
