// Convolutions, channels last, and products of values that are stored as bf16, by AMX's tiles.

#include "backends/contraction/contraction_kernel.h"
#include "backends/cpu/stored_types.h"

namespace lanner {
namespace {

template<bool conv>
TacticList tactics(const Node& node, const Group& group, const Target& target) {
  TacticList none;
  if (stored_types(DType::f32, target).size() == 1) return none;
  const auto c = real_contraction_of(group, conv, none.reason);
  if (!c || c->depthwise()) return none;
  return contraction_tactics(node, *c, target, conv ? "bf16_conv" : "bf16_matmul");
}

template<bool conv>
std::unique_ptr<Kernel> prepare(const Preparation& preparation) {
  std::string reason;
  const auto c = real_contraction_of(preparation.group, conv, reason);
  return contraction_prepare(preparation, c, reason);
}

} // namespace

extern const KernelFamily bf16_conv_family{"bf16_conv", KernelTrust::own(), tactics<true>, prepare<true>};
extern const KernelFamily bf16_matmul_family{"bf16_matmul", KernelTrust::own(), tactics<false>,
                                             prepare<false>};

} // namespace lanner
