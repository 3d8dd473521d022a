#pragma once
// Inputs that start with a picture.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "graph/graph.h"

namespace lanner {

/// The graph with a node `picture` before the readers of each of these inputs, whose open sizes are fixed by
/// the preprocessing. Throws Error{invalid_argument, unsupported}.
std::unique_ptr<Graph> with_pictures(std::unique_ptr<Graph> graph,
                                     const std::map<std::string, PictureOptions>& pictures);

/// By input, what it takes of pictures; unset where it takes none. Throws Error{bad_data} for a graph that
/// reads an input as pictures and otherwise too.
std::vector<std::optional<PictureOptions>> pictures_of(const Graph& graph);

/// Throws Error{invalid_argument} where an input asked for by `option` takes pictures.
void check_no_picture(const Binding& input, std::string_view option);

} // namespace lanner
