#pragma once
// Answers of several pictures that ran at once, told apart.

#include <cstddef>

#include <lanner/engine.h>
#include <lanner/tensor.h>

namespace lanner {

/// Part `n` of `count` along the first dimension, [1, ...], in the memory of `output`, which it holds; the
/// whole where the first dimension is not `count`, and of strings.
Tensor batch_part(const Tensor& output, std::size_t n, std::size_t count);
/// Whether each output of the context's last run has such a part for each of `count` pictures: further ones
/// that filled up a batch can then be left out. False where an output is a sequence. Throws as
/// Context::output.
bool has_batch_parts(const Engine& engine, const Context& context, std::size_t count);

} // namespace lanner
