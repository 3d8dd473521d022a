#pragma once
// Softmax and normalisation of rows that are dense in memory, as sources for NVRTC: a row is read once, into
// the registers of the threads that share it.

#include <cstdint>
#include <optional>
#include <string>

#include <lanner/dtype.h>

#include "backends/reduction/dense_row_kernel.h"

namespace lanner::cuda {

/// Parameters of a normalisation besides its rows.
struct RowNorm {
  std::int64_t shared = 1, repeat = 1; ///< As in Normalization.
  float epsilon = 0;
  bool centred = false, added = false, bias = false;
  bool sum_is_read = false, sum_first = false; ///< The sum is a result too, and comes before the other one.
};

enum class RowKind { softmax, log_softmax, normalization };

/// How threads share the work.
struct RowShare {
  int pack = 1;    ///< Elements per read.
  int team = 1;    ///< Threads per row: a power of two.
  int packs = 1;   ///< Packs per thread of a team.
  int rows = 1;    ///< Rows that a team processes at once.
  int threads = 0; ///< Per block: a multiple of a team and of a warp.
};

struct HeldRows {
  RowKind kind = RowKind::softmax;
  DType type = DType::f32;
  DenseRowParameters dense; ///< Memory layout of the rows.
  RowNorm norm;             ///< For a normalisation.
  RowShare share;
};

/// How rows of this type are shared; nothing where they are too long for registers, or too many.
std::optional<RowShare> row_share(const DenseRowParameters& dense, DType type);

std::int64_t row_blocks(const HeldRows& rows);

/// Kernel `rows`(x, added, scale, bias, results..., number of rows): pointers to those that exist, in this
/// order. Only the number of rows is not in the source.
std::string row_source(const HeldRows& rows);

/// Statements that add the offset of element `index` of a box (an unsigned, which they change) to `from`, and
/// to `to` unless it is empty.
std::string offsets_text(const BoxParameters& box, const char* index, const char* from, const char* to);

} // namespace lanner::cuda
