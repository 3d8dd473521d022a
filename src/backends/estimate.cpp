#include "backends/estimate.h"

#include <algorithm>

#include <lanner/dtype.h>

namespace lanner {

double seconds_of(const Work& work, const Target& target) {
  // Of a core of the last ten years, and of a GPU's L2 cache.
  constexpr double core_cache = 512e3, gpu_cache = 30e6;
  const MachineLimits limits = target.machine();
  const bool host = target.device.is_host();
  const double threads = host ? work.threads : 1;
  const bool cached = work.bytes <= (host ? core_cache * threads : gpu_cache);
  const double computing = work.operations / (work.halves ? limits.half_operations : limits.operations);
  const double moving = work.bytes / (cached ? limits.cached_bytes : limits.bytes);
  return std::max(computing, moving) / threads + limits.start + (threads > 1 ? limits.team_start : 0);
}

double copy_seconds(double bytes, const Target& target) {
  const MachineLimits limits = target.machine();
  return limits.copy_start + bytes / limits.copied_bytes;
}

double plain_bytes(const Value& value) {
  return static_cast<double>(value.type.shape().elements()) *
         static_cast<double>(bit_width(value.type.dtype())) / 8;
}

} // namespace lanner
