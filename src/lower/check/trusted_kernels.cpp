#include "lower/check/trusted_kernels.h"

#include <algorithm>

namespace lanner {

bool is_definition(const Backend& backend) {
  return backend.name() == "reference";
}

static bool has_strides(const Node& node) {
  const auto within = [](const auto& value) { return value && value->storage.within; };
  return std::ranges::any_of(node.inputs(), within) || std::ranges::any_of(node.outputs(), within);
}

static bool trusted(const Region& region, std::span<const Backend* const> backends) {
  return std::ranges::all_of(region.nodes(), [&](const auto& node) {
    const auto backend = std::ranges::find(backends, node->tactic.backend, &Backend::name);
    return (backend == backends.end() || (*backend)->trusts(node->tactic.kernel, has_strides(*node))) &&
           std::ranges::all_of(node->regions(), [&](const auto& inner) { return trusted(*inner, backends); });
  });
}

bool trusted(const Graph& lowered, std::span<const Backend* const> backends) {
  return trusted(lowered.body(), backends);
}

} // namespace lanner
