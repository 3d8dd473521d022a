#pragma once
// Groups that spell attention: softmax(q k^T, scaled and with biases) v, read as one operation.

#include <optional>
#include <string>
#include <vector>

#include "backends/strided_view.h"
#include "graph/target.h"

namespace lanner {

/// A matrix of each head in the memory of an input (or output 0) of the group, which lies row-major.
struct AttentionOperand {
  std::size_t input = 0; ///< Of the group; of no meaning for the result.
  StridedDim heads;      ///< All leading dims as one.
  StridedDim rows, columns;
  std::int64_t offset = 0; ///< Elements.
};

/// What becomes of the scores q k^T, one step after the other: times a number, or plus an operand that is
/// broadcast to them.
struct ScoreStep {
  float factor = 1;
  std::optional<AttentionOperand> bias; ///< Then the factor is of no meaning.
  DType dtype = DType::f32;             ///< Of the bias.
};

/// result[z] = softmax(steps(q[z] k[z]^T)) v[z] for each head z of all images. Heads of one image are `heads`
/// alike; `queries` and `keys` are rows, `depth` and `columns` what a row of q and k, of v and the result
/// has.
struct Attention {
  std::int64_t heads = 0, queries = 0, keys = 0, depth = 0, columns = 0;
  AttentionOperand q, k, v, result; ///< k: a row for each key, whichever way the graph holds it.
  std::vector<ScoreStep> steps;
  bool zero_for_nan = false; ///< Weights that are no numbers, as where every key is masked, count as 0.
  DType type = DType::f32;   ///< Of q, k, v and the result.

  double operations() const;
  double elements() const; ///< Of q, k, v and the result.
};

/// Nothing where the group is something else, or (then with `reason`) is spelled in a way that cannot be
/// read.
std::optional<Attention> read_attention(const Group& group, std::string& reason);

/// The nodes around a softmax that make up attention: the products, what lies between them, and the
/// transposes, reshapes and slices in front of q, k, v and behind the result that nothing else reads; and the
/// same without those.
std::vector<std::vector<const Node*>> propose_attention(const Node& anchor, const Target& target);

} // namespace lanner
