#include "backends/onednn/implementations.h"

#include <algorithm>
#include <string_view>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::onednn {

namespace {

bool is_reference(std::string_view name) {
  return name.starts_with("ref") || name.starts_with("simple:any") ||
         name.find(":ref") != std::string_view::npos;
}

/// 0 for names without an instruction set (`x64:gemm:jit`).
int rank_of_isa(std::string_view name) {
  if (name.find("avx512") != std::string_view::npos) return 3;
  if (name.find("avx2") != std::string_view::npos) return 2;
  if (name.find("avx") != std::string_view::npos || name.find("sse41") != std::string_view::npos) return 1;
  return 0;
}

} // namespace

std::vector<Implementation> implementations(Descriptor descriptor, std::size_t most) {
  std::vector<Implementation> found;
  if (!descriptor) return found;
  int best = 0;
  do {
    const std::string name = descriptor.impl_info_str();
    const int isa = rank_of_isa(name);
    best = std::max(best, isa);
    // A name may occur several times, and how often differs between processes: implementations are identified
    // by name, not by position.
    if (std::ranges::find(found, name, &Implementation::name) != found.end()) continue;
    if (!is_reference(name) && (isa == 0 || isa == best))
      found.push_back({at_this_implementation(descriptor), name});
  } while (found.size() < most && descriptor.next_impl());
  return found;
}

Implementation find_implementation(const std::function<Descriptor()>& make, const ConfigText& config) {
  const std::string& name = config.text("name");
  if (Descriptor descriptor = make()) {
    do {
      if (name == descriptor.impl_info_str()) return {descriptor, name};
    } while (descriptor.next_impl());
  }
  fail(ErrorCode::unsupported,
       "onednn: this version or processor has no implementation {}: build the plan again", name);
}

void name_implementation(ConfigText& config, const Implementation& implementation) {
  config.set("name", implementation.name);
}

} // namespace lanner::onednn
