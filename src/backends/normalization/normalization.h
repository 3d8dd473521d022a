#pragma once
// Layer, RMS, group and instance normalisation in a form common to the backends.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"
#include "graph/target.h"

namespace lanner {

/// Rows of equal length, each of which becomes (x - mean) / deviation * scale + bias: over the last axes, or
/// over the pixels of channels. Optionally preceded by a sum, which may have other readers too. All operands
/// have the type of the result.
struct Normalization {
  Operand x, added, scale, bias; ///< `added` and `bias` may be absent.
  std::int64_t rows = 0, length = 0;
  std::int64_t shared = 1; ///< Adjacent elements of a row that share one scale and one bias.
  std::int64_t repeat = 1; ///< Rows after which parameters repeat.
  float epsilon = 0;
  bool centred = false;         ///< Otherwise the mean is taken to be 0.
  int normalized = 0, sum = -1; ///< Outputs of the group; -1: the sum has no other reader.
  bool of_channels = false;     ///< Rows are groups of channels, `repeat` of them per image.
};

/// The normalisation of a group. Otherwise nothing, with a reason where it is a normalisation with
/// unsupported operands.
std::optional<Normalization> read_normalization(const Group& group, std::string& reason);

/// Elements moved through memory: x and the result, the sum's second operand, and the sum where it is read.
double passes_of(const Normalization& made);

/// As Backend::propose: a normalisation with the sum before it, which saves one pass over memory, also where
/// a later residual reads the sum again.
std::vector<std::vector<const Node*>> propose_sum_and_normalization(const Node& anchor, const Target& target);

} // namespace lanner
