#pragma once
// CUDA C++ source of attention as one kernel, specialised for its sizes.

#include <cstdint>
#include <optional>
#include <string>

#include "backends/attention/attention.h"

namespace lanner::cuda {

/// The work of one block, and how many keys it holds at once.
struct AttentionTile {
  std::int64_t warps = 4; ///< 16 queries each.
  std::int64_t keys = 64; ///< A multiple of 16.

  std::int64_t queries() const { return warps * 16; }
};

/// The tile for so many warps; nothing where it does not fit a block's shared memory and registers.
std::optional<AttentionTile> attention_tile(const Attention& attention, std::int64_t warps);

std::int64_t attention_blocks(const Attention& attention, const AttentionTile& tile);

/// Source of `attention(q, k, v, [biases...,] result)`: pointers to whole tensors. Elements of q, k, v and
/// the result have type `type`, f16 or bf16; a bias has its own. Needs compute capability 8.0.
std::string attention_source(const Attention& attention, const AttentionTile& tile, DType type);

} // namespace lanner::cuda
