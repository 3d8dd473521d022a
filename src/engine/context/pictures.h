#pragma once
// Inputs that start with a picture.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>
#include <lanner/shape.h>

#include "graph/graph.h"

namespace lanner {

/// The graph with a node `picture` before the readers of each of these inputs, whose open sizes are fixed by
/// the preprocessing. Throws Error{invalid_argument, unsupported}.
std::unique_ptr<Graph> with_pictures(std::unique_ptr<Graph> graph,
                                     const std::map<std::string, ImageInputOptions>& pictures);

/// By input, what it takes of pictures; unset where it takes none. Throws Error{bad_data} for a graph that
/// reads an input as pictures and otherwise too.
std::vector<std::optional<ImageInputOptions>> pictures_of(const Graph& graph);

// The engine has a record of each picture, [4, 1024]; callers say how many there are, [4]. Of other inputs
// both are the same.

/// What a caller says, as the engine has it. Throws Error{invalid_argument} for what is no number of
/// pictures.
Shape shape_of_records(const Value& input, const Shape& told);
/// What the engine has, in a caller's words.
Shape told_shape(const Value& input, const Shape& shape);
/// `nv12 picture[N]`; of other inputs the type.
std::string told_type(const Value& input);

/// Throws Error{invalid_argument} where an input asked for by `option` takes pictures.
void check_no_picture(const Binding& input, std::string_view option);

} // namespace lanner
