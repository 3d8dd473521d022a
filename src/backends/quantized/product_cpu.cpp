// Matrix products of 8-bit integers.

#include "backends/quantized/contraction_kernel.h"

namespace lanner {
namespace {

TacticList product_tactics(const Node& node, const Group& group, const Target& target) {
  return int8_tactics(node, group, target, false, "int8_matmul");
}
std::unique_ptr<Kernel> product_prepare(const Preparation& preparation) {
  return int8_prepare(preparation, false);
}

} // namespace

extern const KernelFamily int8_matmul_family{"int8_matmul", KernelTrust::own(), product_tactics,
                                             product_prepare};

} // namespace lanner
