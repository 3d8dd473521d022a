#pragma once
// Weights that the model holds in few bits: kernels take them as they are, or they are made real while
// lowering (docs/decisions/028-quantization.md).

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

/// Folds each dequantize_linear of constants, regions included, that is read by nothing of which a kernel of
/// the target's device may take it quantised; what `constants` knows already is taken from there. Whether
/// there was any: canonical passes may then do more.
bool fold_weights(Graph& graph, std::span<const Backend* const> backends, const Target& target,
                  const WeightStore& constants);

/// What real constants of a graph were dequantised from.
class QuantizedWeights {
public:
  /// Puts a constant in the place of each dequantize_linear of constants in the graph's body that can be
  /// folded.
  static QuantizedWeights of(Graph& graph, const WeightStore& constants);

  /// Adds each proposal whose first node reads such a constant once more, with that quantised: what kernels
  /// are asked for is then `fused` and begins with dequantize_linear. Where no backend of the target's device
  /// may have a kernel for it nothing is added. The graph gets the constants that such a proposal reads.
  void propose(std::vector<Proposal>& proposals, const Graph& graph, const LowerOptions& options) const;

private:
  /// An input of the dequantize_linear, which is gone.
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
  /// Constants of the graph for parts, by the memory of what was made of them.
  using Parts = std::map<Memory, std::vector<Value*>>;
  std::optional<Proposal> quantized(const Proposal& like, const LowerOptions& options, Parts& made) const;

  /// By the memory of the real constant, which its value shares as long as it is in the graph.
  std::map<Memory, std::pair<Tensor, Source>> sources_;
};

} // namespace lanner
