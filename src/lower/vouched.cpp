#include "lower/vouched.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace lanner {
namespace {

/// Kernels of a backend; an empty kernel stands for all. `library` is the beginning of a library's name and
/// version as Backend::version tells them; empty: any.
struct Rule {
  std::string_view backend, kernel, library;
};

// What the sweep over tactics has found right: docs/tactics.md. Kernels of the project's own are tested with
// every change; those of libraries are listed by the versions that were swept.
constexpr std::array rules{
    Rule{"reference", "", ""},         Rule{"cpu", "", ""},
    Rule{"onednn", "", "2.6."},        Rule{"onednn", "", "3.2."},
    Rule{"cuda", "elementwise", ""},   Rule{"cuda", "movement", ""},
    Rule{"cuda", "pool", ""},          Rule{"cuda", "rows", ""},
    Rule{"cuda", "normalization", ""}, Rule{"cuda", "taps", ""},
    Rule{"cuda", "index", ""},         Rule{"cuda", "roi_align", ""},
    Rule{"cuda", "copy_to_host", ""},  Rule{"cuda", "copy_to_device", ""},
    Rule{"cuda", "selection", ""},     Rule{"cuda", "picture", ""},
    Rule{"cuda", "copy_to_gpu", ""},   Rule{"cuda", "depthwise", ""},
    Rule{"cuda", "attention", ""},     Rule{"cuda", "own_gemm", ""},
    Rule{"cuda", "own_conv", ""},      Rule{"cuda", "matmul", "cublaslt 1301"},
    Rule{"cuda", "conv", "cudnn 919"},
};

bool names(std::string_view version, std::string_view library) {
  const std::size_t at = version.find(library);
  return at == 0 || (at != std::string_view::npos && version[at - 1] == ' ');
}

} // namespace

bool is_definition(const Backend& backend) {
  return backend.name() == "reference";
}

bool vouched(const Backend& backend, std::string_view kernel, bool strided) {
  return std::ranges::any_of(rules, [&](const Rule& rule) {
    return !(strided && !rule.library.empty()) && rule.backend == backend.name() &&
           (rule.kernel.empty() || rule.kernel == kernel) && names(backend.version(), rule.library);
  });
}

static bool has_strides(const Node& node) {
  const auto within = [](const auto& value) { return value && value->storage.within; };
  return std::ranges::any_of(node.inputs(), within) || std::ranges::any_of(node.outputs(), within);
}

static bool vouched(const Region& region, std::span<const Backend* const> backends) {
  return std::ranges::all_of(region.nodes(), [&](const auto& node) {
    const auto backend = std::ranges::find(backends, node->tactic.backend, &Backend::name);
    return (backend == backends.end() || vouched(**backend, node->tactic.kernel, has_strides(*node))) &&
           std::ranges::all_of(node->regions(), [&](const auto& inner) { return vouched(*inner, backends); });
  });
}

bool vouched(const Graph& lowered, std::span<const Backend* const> backends) {
  return vouched(lowered.body(), backends);
}

} // namespace lanner
