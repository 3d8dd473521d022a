#pragma once
// Tensors as TensorFlow stores them.

#include <cstdint>
#include <span>
#include <string_view>

#include <lanner/tensor.h>

namespace lanner::tf {

/// Row-major on the host: the tensor itself where it is that already.
Tensor plain(const Tensor& tensor);

/// The elements of a plain tensor as bytes. Throws Error{invalid_argument} for text.
std::span<const std::byte> element_bytes(const Tensor& tensor);

/// Throws Error{limit_exceeded} where a message has more bytes than protobuf reads.
void require_protobuf_size(std::uint64_t bytes, std::string_view what);

} // namespace lanner::tf
