// Convolutions of 8-bit integers, channels last.

#include "backends/contraction/contraction_kernel.h"

namespace lanner {
namespace {

TacticList conv_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList none;
  const auto c = contraction_of(group, true, none.reason);
  // Depthwise convolutions have a kernel of their own.
  if (!c || (c->depthwise() && c->type != DType::i32 && !c->x_zero)) return none;
  return contraction_tactics(node, *c, target, "int8_conv");
}
std::unique_ptr<Kernel> conv_prepare(const Preparation& preparation) {
  std::string reason;
  const auto c = contraction_of(preparation.group, true, reason);
  return contraction_prepare(preparation, c, reason);
}

} // namespace

extern const KernelFamily int8_conv_family{"int8_conv", KernelTrust::own(), conv_tactics, conv_prepare};

} // namespace lanner
