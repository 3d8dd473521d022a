#include "tasks/read/halves.h"

#include <immintrin.h>

namespace lanner::tasks {

void halves_to_floats_avx2(const std::uint16_t* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  for (; i < count; ++i) to[i] = _cvtsh_ss(from[i]);
}

} // namespace lanner::tasks
