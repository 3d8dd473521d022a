#pragma once
// Splits the outputs of a batch into those of its pictures.

#include <cstddef>

#include <lanner/engine.h>
#include <lanner/tensor.h>

namespace lanner {

/// Part `n` of `count` along the first dimension, [1, ...], as a view that keeps `output`'s memory alive; the
/// whole output if its first dimension is not `count`, and for strings.
Tensor batch_part(const Tensor& output, std::size_t n, std::size_t count);
/// Whether each output of the context's last run has such a part for each of `count` pictures, so that those
/// of pictures that only filled up the batch can be dropped. False if an output is a sequence. Throws as
/// Context::output.
bool has_batch_parts(const Engine& engine, const Context& context, std::size_t count);

} // namespace lanner
