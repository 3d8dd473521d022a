#pragma once

#include <cstdint>

namespace lanner::tasks {

/// `count` half floats as floats, on CPUs with CpuFeatures::has_avx2().
void halves_to_floats_avx2(const std::uint16_t* from, std::int64_t count, float* to);

} // namespace lanner::tasks
