#include "tensor/content_hash.h"

#include <algorithm>
#include <cstring>

#include <xxhash.h>

#include "base/check.h"

namespace lanner {

static void require_host(const Tensor& tensor) {
  check(tensor.defined() && tensor.device().is_host(), ErrorCode::internal,
        "tensor: cannot hash a tensor that is not on the host");
}

static std::uint64_t mix(const void* data, std::size_t bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

std::uint64_t content_hash(const Tensor& tensor) {
  require_host(tensor);
  const std::string about = fmt::format("{} {} {}", to_string(tensor.dtype()), tensor.shape().to_string(),
                                        tensor.layout().to_string());
  const std::uint64_t seed = mix(about.data(), about.size(), 0);
  if (tensor.dtype() != DType::string) return mix(tensor.data(), tensor.bytes(), seed);
  std::uint64_t hash = seed;
  for (const std::string& text : tensor.as<std::string>())
    hash = mix(text.data(), text.size(), hash + text.size());
  return hash;
}

bool same_content(const Tensor& a, const Tensor& b) {
  require_host(a);
  require_host(b);
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || a.layout() != b.layout()) return false;
  if (a.dtype() == DType::string) {
    const auto left = a.as<std::string>(), right = b.as<std::string>();
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
  }
  return a.data() == b.data() || a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

} // namespace lanner
