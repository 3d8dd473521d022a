// Matrix products of 8-bit integers.

#include "backends/contraction/contraction_kernel.h"

namespace lanner {
namespace {

TacticList product_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList none;
  const auto c = contraction_of(group, false, none.reason);
  return c ? contraction_tactics(node, *c, target, "int8_matmul") : none;
}
std::unique_ptr<Kernel> product_prepare(const Preparation& preparation) {
  std::string reason;
  const auto c = contraction_of(preparation.group, false, reason);
  return contraction_prepare(preparation, c, reason);
}

} // namespace

extern const KernelFamily int8_matmul_family{"int8_matmul", KernelTrust::own(), product_tactics,
                                             product_prepare};

} // namespace lanner
