#pragma once
// A TensorFlow model with its functions inlined, as it is divided into engines and native parts.

#include <lanner/source.h>

#include "importers/builder.h"
#include "importers/import_graph.h"
#include "importers/importer.h"
#include "importers/tensorflow/source_library.h"

namespace lanner::tensorflow {

/// What becomes of calls that stand for TRTEngineOp nodes.
enum class EngineNodes : std::uint8_t { inlined, kept };

/// Reads a SavedModel, MetaGraph or GraphDef and inlines calls of functions: node `n` of a function that node
/// `call` calls becomes `call/n`. Bodies of If and While stay functions. Labels of inputs and outputs are
/// those of the signature. `library` gets what TensorFlow needs to run nodes that have no rule (graph_def.h).
ImportModel read_flat_graph(const SourcePtr& source, const ImportOptions& options,
                            EngineNodes engines = EngineNodes::inlined, SourceLibrary* library = nullptr);

/// Inlines calls of functions in `nodes`, whose values have their own names; `prefix` goes before the names
/// of nodes. `names` has the flat name of each value that is known, and gets those of the nodes' outputs.
std::vector<ImportNode> inlined(const ImportModel& model, const std::vector<ImportNode>& nodes,
                                const std::string& prefix, std::map<std::string, std::string>& names,
                                const Limits& limits);

/// Which nodes have a rule that converts them, and the types of values. Values that are no tensors here
/// (resources, for one), or whose type cannot be had, have none, and nodes that read them are not converted.
NodeTrial try_nodes(const ImportModel& model, const ImportOptions& options,
                    const SourceLibrary* library = nullptr);

/// Rules of TensorFlow's operators, and of the operators `tf.NAME` that users added.
RuleFinder rules_for(const ImportOptions& options);

/// Converts a model that is a part of another one, or all of it.
std::unique_ptr<Graph> graph_of(const ImportModel& model, const ImportOptions& options);

} // namespace lanner::tensorflow
