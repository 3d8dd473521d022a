#pragma once
// FFmpeg's AVIO over a ByteSource.

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>

#include <lanner/cancel.h>
#include <lanner/source.h>

extern "C" {
#include <libavformat/avio.h>
}

#include "base/check.h"
#include "video/ffmpeg/ts_breaks.h"

namespace lanner::ffmpeg {

struct AvioFree {
  void operator()(AVIOContext* io) const;
};
using AvioPtr = std::unique_ptr<AVIOContext, AvioFree>;

/// When a long call has to stop: the caller's token, or a wall time since restart().
class StopWatch {
public:
  StopWatch(CancelToken cancel, double seconds);
  void restart() noexcept { start_ = std::chrono::steady_clock::now(); }
  bool stopped() const noexcept;
  /// Throws Error{cancelled, limit_exceeded} when stopped.
  void check() const;

private:
  CancelToken cancel_;
  double seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Reads a source for FFmpeg. Errors of the source cannot pass through C: they are kept and thrown by
/// rethrow().
class SourceReader {
public:
  SourceReader(SourcePtr source, const StopWatch& stop);

  AVIOContext* context() noexcept { return io_.get(); }
  /// Of what was read so far.
  const TsBreaks& breaks() const noexcept { return breaks_; }
  /// Throws what a read or seek met since the last call.
  void rethrow();

private:
  static int read(void* self, std::uint8_t* into, int size) noexcept;
  static std::int64_t seek(void* self, std::int64_t offset, int whence) noexcept;

  SourcePtr source_;
  const StopWatch& stop_;
  std::uint64_t position_ = 0;
  TsBreaks breaks_;
  std::exception_ptr error_;
  AvioPtr io_;
};

} // namespace lanner::ffmpeg
