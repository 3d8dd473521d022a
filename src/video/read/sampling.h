#pragma once
// Which frames are on the screen when.

#include <cstdint>
#include <vector>

#include <lanner/limits.h>
#include <lanner/video_reader.h>

namespace lanner {

/// Each follows VideoReader's function of its name. Streams without times are Error{unsupported}.
std::int64_t index_at(const StreamIndex& index, double seconds);
std::vector<std::int64_t> indices_played_in(const StreamIndex& index, double begin, double end);
std::vector<std::int64_t> sample(const StreamIndex& index, std::int64_t count, const Limits& limits);
std::vector<std::int64_t> sample(const StreamIndex& index, Rational rate, const Limits& limits);

} // namespace lanner
