#include "backends/quantized/int8_block.h"

#include <vector>

#include "device/cpu.h"

namespace lanner {

std::span<const Int8Functions* const> all_int8_functions() {
  static const std::vector<const Int8Functions*> all = [] {
    const CpuFeatures& cpu = cpu_features();
    std::vector<const Int8Functions*> list{&int8_quads_baseline(), &int8_pairs_baseline()};
    if (cpu.has_avx2()) list.push_back(&int8_pairs_avx2());
    if (cpu.has_avx2() && cpu.avx_vnni) list.push_back(&int8_quads_avx2());
    if (cpu.has_avx512()) list.push_back(&int8_pairs_avx512());
    if (cpu.has_avx512() && cpu.avx512_vnni) list.push_back(&int8_quads_avx512());
    return list;
  }();
  return all;
}

const Int8Functions& int8_functions(bool signed_weights) {
  const auto all = all_int8_functions();
  // AVX-VNNI does more in a step than AVX-512 without VNNI, but no processor has only these two.
  for (auto functions = all.rbegin(); functions != all.rend(); ++functions)
    if ((*functions)->multiply(signed_weights)) return **functions;
  return int8_pairs_baseline();
}

} // namespace lanner
