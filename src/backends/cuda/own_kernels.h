#pragma once
// Tactic lists of own kernels for operators that a library also computes.

#include <optional>
#include <vector>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/storage.h"
#include "backends/family.h"

namespace lanner::cuda {

/// Whether own kernels come first: the library offers none, or its version was not covered by the sweep over
/// tactics, so that its kernels may be left out where there is no time to check them. Otherwise own kernels
/// are further candidates: each must be compiled before it can be timed, for which a build may not have the
/// time.
inline bool own_kernels_first(const KernelFamily& library, const Node& node, const Group& group,
                              const Target& target) {
  return !library.trust.holds(backend().version(), false) ||
         library.tactics(node, group, target).tactics.empty();
}

/// Types that own kernels compute in: halves, on tensor cores; f32 where nothing narrower is allowed, or
/// where the library may be unavailable.
inline std::vector<std::optional<DType>> own_types(DType type, const Target& target, bool first) {
  auto types = half_types(type, target);
  if (type == DType::f32 && (types.empty() || first)) types.insert(types.begin(), std::nullopt);
  return types;
}

/// The tactic lists of a family of own kernels. `plans` gives all tactics when called with `first`, else
/// those that complement the library's.
template<const KernelFamily& library,
         TacticList (*plans)(const Node& node, const Group& group, const Target& target, bool first)>
struct OwnKernelTactics {
  static TacticList first(const Node& node, const Group& group, const Target& target) {
    return own_kernels_first(library, node, group, target) ? plans(node, group, target, true) : TacticList{};
  }
  static TacticList further(const Node& node, const Group& group, const Target& target) {
    return own_kernels_first(library, node, group, target) ? TacticList{} : plans(node, group, target, false);
  }
  static TacticList all(const Node& node, const Group& group, const Target& target) {
    return plans(node, group, target, true);
  }
};

} // namespace lanner::cuda
