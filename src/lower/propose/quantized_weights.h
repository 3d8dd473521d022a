#pragma once
// Quantised weights: kernels read them as they are, or lowering dequantises them
// (docs/decisions/028-quantization.md).

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "lower/options.h"
#include "lower/propose/alternatives.h"
#include "ops/definition/recipe.h"

namespace lanner {

/// Folds each dequantize_linear of constants, regions included, that no reader's kernel on the target's
/// device may take quantised; results known to `constants` are reused. Returns whether there was any:
/// canonical passes may then do more.
bool fold_weights(Graph& graph, std::span<const Backend* const> backends, const Target& target,
                  const WeightStore& constants);

/// The quantised sources of a graph's dequantised constants.
class QuantizedWeights {
public:
  /// Replaces each foldable dequantize_linear of constants in the graph's body by a constant.
  static QuantizedWeights of(Graph& graph, const WeightStore& constants);

  /// Adds a variant with quantised weights of each proposal whose first node reads such a constant, and the
  /// groups of quantized_groups(): kernels are then asked for a `fused` that begins with dequantize_linear.
  /// Adds nothing where no backend of the target's device has a kernel for it. The graph gets the constants
  /// that such a proposal reads.
  void propose(std::vector<Proposal>& proposals, Graph& graph, const LowerOptions& options) const;

private:
  /// An input of the former dequantize_linear.
  struct Part {
    Tensor value; ///< Undefined: absent.
    Recipe recipe;
    std::string name;
  };
  struct Source {
    std::vector<Part> parts;
    AttributeMap attributes;
  };
  using Memory = const void*;
  /// Constants of the graph for parts, by the memory of the dequantised constant.
  using Parts = std::map<Memory, std::vector<Value*>>;
  /// Whether dequantize_linear of weights and the node after it may begin a group.
  using TakenTwin = std::function<bool(const Node& dequantize, const Node& next)>;
  /// `members` over the quantised weights of `reader`, one of them; nothing where it has none.
  std::optional<Proposal> quantized(const NodeGroup& members, const Node& reader, const TakenTwin& taken,
                                    Parts& made) const;

  /// By the memory of the dequantised constant, which its value shares as long as it is in the graph.
  std::map<Memory, std::pair<Tensor, Source>> sources_;
};

} // namespace lanner
