#pragma once
// Preprocessing of pictures that are bound to tensor inputs.

#include <filesystem>
#include <map>
#include <string>

#include <lanner/engine.h>

#include "graph/graph.h"

namespace lanner {

/// By input name: BuildOptions::preprocess; for other inputs that of the model's metadata, else that of its
/// network family, found by metadata and files in `folder`; with sizes and types of the inputs. Throws
/// Error{not_found, invalid_argument} for given preprocessing that does not fit; for a declared one a warning
/// is logged, and it is removed from the metadata.
std::map<std::string, Preprocess> settle_preprocess(Graph& graph, const BuildOptions& options,
                                                    const std::filesystem::path& folder);

} // namespace lanner
