#pragma once
// Whole pictures from frames of two fields.

#include <memory>
#include <optional>

#include <lanner/decoder.h>

namespace lanner {

/// Gives a frame for each frame, in their order: those that are marked as interlaced with the lines of the
/// later field drawn anew, others as they are. Frames of one size and format, in host memory. One thread at a
/// time.
class Deinterlacer {
public:
  virtual ~Deinterlacer() = default;
  /// Takes a frame, or the end (nullptr).
  virtual void send(const Frame* frame) = 0;
  /// Nothing: another frame is needed, or all came.
  virtual std::optional<Frame> receive() = 0;
};

/// By FFmpeg's bwdif. Throws Error{unsupported} where this FFmpeg lacks it.
std::unique_ptr<Deinterlacer> create_deinterlacer();

} // namespace lanner
