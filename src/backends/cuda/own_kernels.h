#pragma once
// Tactic lists of own kernels for operators that a library also computes.

#include <optional>
#include <vector>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/storage.h"
#include "backends/family.h"

namespace lanner::cuda {

/// Whether own kernels may have to do without the library's: it offers none, or its version was not covered
/// by the sweep over tactics, so that its kernels may be left out where there is no time to check them.
inline bool replaces_library(const KernelFamily& library, const Node& node, const Group& group,
                             const Target& target) {
  return !library.trust.holds(backend().version(), false) ||
         library.tactics(node, group, target).tactics.empty();
}

/// Types that own kernels compute in: halves, on tensor cores; f32 where nothing narrower is allowed, or
/// where the library may be unavailable.
inline std::vector<std::optional<DType>> own_types(DType type, const Target& target, bool replaces) {
  auto types = half_types(type, target);
  if (type == DType::f32 && (types.empty() || replaces)) types.insert(types.begin(), std::nullopt);
  return types;
}

/// The tactic lists of a family of own kernels, which compete with the library's first ones: `plans` gives
/// all where they may have to replace the library's, else those in types in which they are faster.
template<const KernelFamily& library,
         TacticList (*plans)(const Node& node, const Group& group, const Target& target, bool replaces)>
struct OwnKernelTactics {
  static TacticList offered(const Node& node, const Group& group, const Target& target) {
    return plans(node, group, target, replaces_library(library, node, group, target));
  }
  static TacticList all(const Node& node, const Group& group, const Target& target) {
    return plans(node, group, target, true);
  }
};

} // namespace lanner::cuda
