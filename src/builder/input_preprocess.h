#pragma once
// What pictures become that are bound to inputs which take tensors.

#include <filesystem>
#include <map>
#include <string>

#include <lanner/engine.h>

#include "graph/graph.h"

namespace lanner {

/// By input name: BuildOptions::preprocess, and for inputs that it does not name what the model's metadata
/// declares, else what is known of its family by that and by files in `folder`; with sizes and types of the
/// inputs. Throws Error{not_found, invalid_argument} for what was given
/// and does not fit; of what was declared so a warning is logged, and it is taken out of the metadata.
std::map<std::string, Preprocess> settle_preprocess(Graph& graph, const BuildOptions& options,
                                                    const std::filesystem::path& folder);

} // namespace lanner
