#pragma once
// Splits the outputs of a batch into those of its pictures.

#include <cstddef>

#include <lanner/engine.h>
#include <lanner/tensor.h>

namespace lanner {

/// Part `n` of `count` along the first dimension, [1, ...], a view of `output`'s memory that keeps it alive;
/// all of it where the first dimension is not `count`, and for strings.
Tensor batch_part(const Tensor& output, std::size_t n, std::size_t count);
/// Whether each output of the context's last run has such a part for each of `count` pictures: surplus ones
/// that filled up a batch can then be dropped. False where an output is a sequence. Throws as
/// Context::output.
bool has_batch_parts(const Engine& engine, const Context& context, std::size_t count);

} // namespace lanner
