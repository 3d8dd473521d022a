#pragma once
// Groups that compute attention: softmax(q k^T, scaled and with biases) v, matched as one operation.

#include <optional>
#include <string>
#include <vector>

#include "backends/strided_view.h"
#include "graph/target.h"

namespace lanner {

/// The matrices of all heads in the memory of an input (or output 0) of the group, which is row-major.
struct AttentionOperand {
  std::size_t input = 0; ///< Input of the group; unused for the result.
  StridedDim heads;      ///< All leading dims merged into one.
  StridedDim rows, columns;
  std::int64_t offset = 0; ///< Elements.
};

/// One step on the scores q k^T: multiply by a number, or add an operand that is broadcast to them.
struct ScoreStep {
  float factor = 1;
  std::optional<AttentionOperand> bias; ///< When set, `factor` is unused.
  DType dtype = DType::f32;             ///< Of the bias.
};

/// result[z] = softmax(steps(q[z] k[z]^T)) v[z] for each head z of all images. `heads` counts the heads of
/// all images; `queries` and `keys` are row counts, `depth` is the row length of q and k, `columns` that of v
/// and the result.
struct Attention {
  std::int64_t heads = 0, queries = 0, keys = 0, depth = 0, columns = 0;
  AttentionOperand q, k, v, result; ///< k: one row per key, whichever way the graph stores it.
  std::vector<ScoreStep> steps;
  bool zero_for_nan = false; ///< NaN weights count as 0, as where every key is masked.
  DType type = DType::f32;   ///< Of q, k, v and the result.

  double operations() const;
  double elements() const; ///< Of q, k, v and the result.
};

/// Nothing where the group is something else, or (then with `reason`) is written in a form that is not
/// supported.
std::optional<Attention> read_attention(const Group& group, std::string& reason);

/// Candidate groups around a softmax that form attention: the products, the nodes between them, and the
/// transposes, reshapes and slices before q, k, v and after the result that have no other readers; and the
/// same without those.
std::vector<std::vector<const Node*>> propose_attention(const Node& anchor, const Target& target);

} // namespace lanner
