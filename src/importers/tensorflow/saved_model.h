#pragma once
// SavedModels and MetaGraphs: a graph, its signatures and, in a checkpoint beside it, its variables
// (saved_model.proto, meta_graph.proto).

#include <cstddef>
#include <span>

#include <lanner/source.h>

#include "importers/import_graph.h"
#include "importers/importer.h"
#include "importers/tensorflow/source_library.h"

namespace lanner::tensorflow {

/// Whether these are the bytes of a saved_model.pb or saved_model.pbtxt, of a MetaGraph (.meta, also as
/// text).
bool looks_like_saved_model(std::span<const std::byte> bytes);
bool looks_like_meta_graph(std::span<const std::byte> bytes);

/// The graph of one signature (ImportOptions::tensorflow), inputs and outputs in the order of the signature's
/// keys, which are their names. Variables come from `variables/variables` below ImportOptions::folder.
/// `library`: as in model_of() (graph_def.h).
ImportModel read_saved_model(const Content& content, const ImportOptions& options,
                             SourceLibrary* library = nullptr);
/// A MetaGraph, whose variables are in the checkpoint of its name without `.meta`. Without a signature
/// ImportOptions::outputs must name the outputs.
ImportModel read_meta_graph(const Content& content, const ImportOptions& options,
                            SourceLibrary* library = nullptr);

} // namespace lanner::tensorflow
