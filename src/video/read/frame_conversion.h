#pragma once
// What becomes of a decoded frame before a caller gets it, on the thread that decoded it.

#include <cstdint>
#include <functional>

#include <lanner/video_reader.h>

namespace lanner {

/// Called with frames whose number and times are set; any thread.
using FrameFinish = std::function<void(Frame&)>;

/// By VideoReaderOptions::rotate, ::format and ::preprocess; null when none is asked for.
FrameFinish finish_by(const VideoReaderOptions& options);

/// As a player shows it, as far as mirroring and quarter turns do that. The picture is complete in the order
/// of `stream`.
void rotate_upright(Frame& frame, Stream stream = {});
/// Quarter turns clockwise, 0 to 3.
int quarter_turns(double rotation) noexcept;

/// Bytes of memory that a frame holds.
std::uint64_t frame_bytes(const Frame& frame);

} // namespace lanner
