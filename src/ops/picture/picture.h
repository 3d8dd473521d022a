#pragma once
// The operator `preprocess_images`: preprocessing of images as the first node of a network.
//     preprocess_images(u8[N, 1024] records) -> [N, C, H, W] or [N, H, W, C]
// Its input is an input of the graph, whose elements are records of images (image/picture_record.h).

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <lanner/image.h>
#include <lanner/preprocess.h>

#include "graph/graph.h"

namespace lanner::ops {

inline constexpr std::string_view picture_kind = "preprocess_images";

/// The node's preprocessing, with a size and a type. Throws Error{bad_data, invalid_argument}.
Preprocess preprocess_of(const Node& picture);
/// Name of the only pixel format that it accepts, empty: any.
std::string format_of(const Node& picture);

/// The node that reads `input` as pictures; null where `input` is not one of pictures.
const Node* picture_reader(const Value& input);

/// Preprocesses the picture of the record at `record` into one batch element of `spec`'s shape. Pictures on a
/// GPU are copied to the host. Throws Error{invalid_argument} for a record from another process.
void read_picture(const std::byte* record, const Preprocess& spec, std::byte* element, int threads);

} // namespace lanner::ops
