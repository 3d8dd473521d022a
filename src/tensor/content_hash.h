#pragma once
// Hash and equality of tensor contents.

#include <cstdint>

#include <lanner/tensor.h>

namespace lanner {

/// XXH3 of element type, shape, layout and elements of a host tensor. Equal content gives equal hashes on
/// every machine.
std::uint64_t content_hash(const Tensor& tensor);
/// Whether two host tensors agree in element type, shape, layout and every bit.
bool same_content(const Tensor& a, const Tensor& b);

} // namespace lanner
