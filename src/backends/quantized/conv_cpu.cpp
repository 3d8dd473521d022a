// Convolutions of 8-bit integers, channels last.

#include "backends/quantized/contraction_kernel.h"

namespace lanner {
namespace {

TacticList conv_tactics(const Node& node, const Group& group, const Target& target) {
  return int8_tactics(node, group, target, true, "int8_conv");
}
std::unique_ptr<Kernel> conv_prepare(const Preparation& preparation) {
  return int8_prepare(preparation, true);
}

} // namespace

extern const KernelFamily int8_conv_family{"int8_conv", KernelTrust::own(), conv_tactics, conv_prepare};

} // namespace lanner
