#pragma once
// Layer, RMS, group and instance normalisation as backends read them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"
#include "graph/target.h"

namespace lanner {

/// Rows of one length, each of which becomes (x - mean) / deviation * scale + bias: over the last axes, or
/// over the pixels of channels. In front there may be a sum, which others may read too. All operands have
/// the type of the result.
struct Normalization {
  Operand x, added, scale, bias; ///< `added` and `bias` may be absent.
  std::int64_t rows = 0, length = 0;
  std::int64_t shared = 1; ///< Neighbours in a row that have one scale and one bias.
  std::int64_t repeat = 1; ///< Rows after which parameters come again.
  float epsilon = 0;
  bool centred = false;         ///< Else the mean is taken to be 0.
  int normalized = 0, sum = -1; ///< Outputs of the group; -1: nobody else reads the sum.
  bool of_channels = false;     ///< Rows are groups of channels, `repeat` of them an image.
};

/// What a group asks for. Nothing, and the reason where it is a normalisation, for other operands than those.
std::optional<Normalization> read_normalization(const Group& group, std::string& reason);

/// The values that cross memory: two for each row, the second operand of a sum, and the sum where it is read.
double passes_of(const Normalization& made);

/// As Backend::propose: a normalisation with the sum in front of it, one pass over memory less, also where a
/// later residual reads the sum again.
std::vector<std::vector<const Node*>> propose_sum_and_normalization(const Node& anchor, const Target& target);

} // namespace lanner
