#include "backends/contraction/block.h"

#include <vector>

#include "device/cpu.h"

namespace lanner {

std::span<const BlockFunctions* const> all_int8_functions() {
  static const std::vector<const BlockFunctions*> all = [] {
    const CpuFeatures& cpu = cpu_features();
    std::vector<const BlockFunctions*> list{&int8_tiles_baseline(), &int8_quads_baseline(),
                                            &int8_pairs_baseline()};
    if (cpu.has_avx2()) list.push_back(&int8_pairs_avx2());
    if (cpu.has_avx2() && cpu.avx_vnni) list.push_back(&int8_quads_avx2());
    if (cpu.has_avx512()) list.push_back(&int8_pairs_avx512());
    if (cpu.has_avx512() && cpu.avx512_vnni) list.push_back(&int8_quads_avx512());
    if (const BlockFunctions* tiles = int8_tile_functions()) list.push_back(tiles);
    return list;
  }();
  return all;
}

std::span<const BlockFunctions* const> all_bf16_functions() {
  static const std::vector<const BlockFunctions*> all = [] {
    std::vector<const BlockFunctions*> list{&bf16_tiles_baseline()};
    if (const BlockFunctions* tiles = bf16_tile_functions()) list.push_back(tiles);
    return list;
  }();
  return all;
}

const BlockFunctions& int8_functions(bool quads) {
  const auto all = all_int8_functions();
  // AVX-VNNI does more in a step than AVX-512 without VNNI, but no processor has only these two.
  for (auto functions = all.rbegin(); functions != all.rend(); ++functions)
    if ((*functions)->whole_steps == 1 && (quads || !(*functions)->quads())) return **functions;
  return int8_pairs_baseline();
}

const BlockFunctions* int8_tile_functions() {
  const CpuFeatures& cpu = cpu_features();
  return cpu.has_avx512() && cpu.amx_int8 ? &int8_tiles_avx512() : nullptr;
}

const BlockFunctions* bf16_tile_functions() {
  const CpuFeatures& cpu = cpu_features();
  return cpu.has_avx512() && cpu.amx_bf16 && cpu.avx512_bf16 ? &bf16_tiles_avx512() : nullptr;
}

} // namespace lanner
