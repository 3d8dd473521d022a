#pragma once
// Inputs with built-in preprocessing of pictures.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>
#include <lanner/shape.h>

#include "graph/graph.h"

namespace lanner {

/// The graph with a node `preprocess_images` before the readers of each of these inputs, whose open sizes are
/// fixed by the preprocessing. Throws Error{invalid_argument, unsupported}.
std::unique_ptr<Graph> with_pictures(std::unique_ptr<Graph> graph,
                                     const std::map<std::string, ImageInputOptions>& pictures);

/// By input, its picture options; unset where it takes no pictures. Throws Error{bad_data} for a graph that
/// reads an input as pictures and in another way.
std::vector<std::optional<ImageInputOptions>> pictures_of(const Graph& graph);

// The engine's shape of a picture input counts records, [4, 1024]; the caller's is the number of pictures,
// [4]. For other inputs both are the same.

/// Converts a caller's shape to the engine's. Throws Error{invalid_argument} for a shape that is not a number
/// of pictures.
Shape shape_of_records(const Value& input, const Shape& told);
/// Converts the engine's shape to a caller's.
Shape caller_shape(const Value& input, const Shape& shape);
/// `nv12 image[N]`; for other inputs the type.
std::string caller_type(const Value& input);

/// Throws Error{invalid_argument} where an input asked for by `option` takes pictures.
void check_no_picture(const Binding& input, std::string_view option);

} // namespace lanner
