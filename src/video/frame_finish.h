#pragma once
// What becomes of a decoded frame before a caller gets it, on the thread that decoded it.

#include <cstdint>
#include <functional>

#include <lanner/video_reader.h>

namespace lanner {

/// Called with frames whose number and times are set; any thread.
using FrameFinish = std::function<void(Frame&)>;

/// By VideoReaderOptions::format and ::preprocess; null when neither is asked for.
FrameFinish finish_by(const VideoReaderOptions& options);

/// Bytes of memory that a frame holds.
std::uint64_t frame_bytes(const Frame& frame);

} // namespace lanner
