#pragma once
// Families of own kernels for what a library computes too.

#include <optional>
#include <vector>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/storage.h"
#include "backends/family.h"

namespace lanner::cuda {

/// Whether a build is to look at own kernels at once: the library offers none, or its version is none that
/// the sweep over tactics has seen, so that its kernels may be left out where there is no time to check them.
/// Else they are further candidates, as each is compiled before it can be timed, for which a build may not
/// have the time.
inline bool own_kernels_first(const KernelFamily& library, const Node& node, const Group& group,
                              const Target& target) {
  return !library.trust.holds(backend().version(), false) ||
         library.tactics(node, group, target).tactics.empty();
}

/// Types that own kernels compute in: halves, on tensor cores; f32 where nothing narrower is allowed, or the
/// library may not be there for it.
inline std::vector<std::optional<DType>> own_types(DType type, const Target& target, bool first) {
  auto types = half_types(type, target);
  if (type == DType::f32 && (types.empty() || first)) types.insert(types.begin(), std::nullopt);
  return types;
}

/// The lists of a family of own kernels. `plans` gives all that it has where it may come first, or what it
/// has beside the library.
template<const KernelFamily& library,
         TacticList (*plans)(const Node& node, const Group& group, const Target& target, bool first)>
struct BesideLibrary {
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
