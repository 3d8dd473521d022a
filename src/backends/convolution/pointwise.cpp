#include "backends/convolution/pointwise.h"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace lanner::cuda {

using cudnn::PointwiseMode;

std::optional<PointwiseStep> activation_step(const ActivationCall& activation) {
  using M = PointwiseMode;
  const auto plain = [](M mode, float slope = 0) { return PointwiseStep{mode, {}, false, {}, slope}; };
  if (activation.is("relu")) return plain(M::relu);
  if (activation.is("leaky_relu")) {
    // Engines compute max(x, slope * x).
    if (!(activation.alpha <= 1)) return std::nullopt;
    return plain(M::relu, activation.alpha);
  }
  if (activation.is("clip")) {
    if (activation.alpha != 0 || !(activation.beta >= 0)) return std::nullopt;
    if (std::isinf(activation.beta)) return plain(M::relu);
    return PointwiseStep{M::relu, {}, false, activation.beta, 0};
  }
  if (activation.is("elu")) return plain(M::elu, activation.alpha);
  if (activation.is("swish")) return plain(M::swish, activation.alpha);
  if (activation.is("softplus")) return plain(M::softplus, 1);
  static constexpr std::pair<std::string_view, M> modes[] = {
      {"sigmoid", M::sigmoid}, {"tanh", M::tanh}, {"gelu", M::gelu}, {"gelu_by_tanh", M::gelu_tanh}};
  for (const auto& [name, mode] : modes)
    if (activation.is(name)) return plain(mode);
  return std::nullopt;
}

std::optional<PointwiseMode> mode_of(BinaryKind kind) {
  using M = PointwiseMode;
  switch (kind) {
  case BinaryKind::add:
    return M::add;
  case BinaryKind::subtract:
    return M::subtract;
  case BinaryKind::multiply:
    return M::multiply;
  case BinaryKind::divide:
    return M::divide;
  case BinaryKind::minimum:
  case BinaryKind::maximum:
    return std::nullopt; // Fused min and max return the other operand where one is NaN.
  }
  return std::nullopt;
}

} // namespace lanner::cuda
