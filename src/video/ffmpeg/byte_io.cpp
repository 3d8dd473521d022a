#include "video/ffmpeg/byte_io.h"

#include <cstdio>
#include <new>
#include <utility>

#include <lanner/error.h>

#include "base/limits/limit_error.h"

extern "C" {
#include <libavutil/error.h>
#include <libavutil/mem.h>
}

namespace lanner::ffmpeg {

void AvioFree::operator()(AVIOContext* io) const {
  av_freep(&io->buffer); // FFmpeg may have replaced the buffer that was given to it.
  avio_context_free(&io);
}

StopWatch::StopWatch(CancelToken cancel, double seconds) : cancel_(std::move(cancel)), seconds_(seconds) {}

bool StopWatch::stopped() const noexcept {
  if (cancel_.cancelled()) return true;
  if (seconds_ <= 0) return false;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > seconds_;
}

void StopWatch::check() const {
  cancel_.check();
  if (stopped()) fail_limit("seconds", seconds_, "reading took too long");
}

SourceReader::SourceReader(SourcePtr source, const StopWatch& stop)
    : source_(std::move(source)), stop_(stop) {
  constexpr int buffer_bytes = 64 << 10;
  auto* buffer = static_cast<unsigned char*>(av_malloc(buffer_bytes));
  if (!buffer) throw std::bad_alloc();
  const bool seekable = source_->seekable();
  io_.reset(avio_alloc_context(buffer, buffer_bytes, 0, this, read, nullptr, seekable ? seek : nullptr));
  if (!io_) {
    av_free(buffer);
    throw std::bad_alloc();
  }
  io_->seekable = seekable ? AVIO_SEEKABLE_NORMAL : 0;
}

void SourceReader::rethrow() {
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

int SourceReader::read(void* opaque, std::uint8_t* into, int size) noexcept {
  auto& self = *static_cast<SourceReader*>(opaque);
  if (self.error_ || self.stop_.stopped()) return AVERROR_EXIT;
  try {
    const std::size_t count = self.source_->read_at(
        self.position_, {reinterpret_cast<std::byte*>(into), static_cast<std::size_t>(size)});
    self.breaks_.feed(self.position_, {reinterpret_cast<const std::byte*>(into), count});
    self.position_ += count;
    return count ? static_cast<int>(count) : AVERROR_EOF;
  } catch (...) {
    self.error_ = std::current_exception();
    return AVERROR_EXIT;
  }
}

std::int64_t SourceReader::seek(void* opaque, std::int64_t offset, int whence) noexcept {
  auto& self = *static_cast<SourceReader*>(opaque);
  const std::int64_t size = self.source_->size();
  std::int64_t target = 0;
  switch (whence & ~AVSEEK_FORCE) {
  case AVSEEK_SIZE:
    return size >= 0 ? size : AVERROR(ENOSYS);
  case SEEK_SET:
    target = offset;
    break;
  case SEEK_CUR:
    if (__builtin_add_overflow(static_cast<std::int64_t>(self.position_), offset, &target))
      return AVERROR(EINVAL);
    break;
  case SEEK_END:
    if (size < 0 || __builtin_add_overflow(size, offset, &target)) return AVERROR(EINVAL);
    break;
  default:
    return AVERROR(EINVAL);
  }
  if (target < 0) return AVERROR(EINVAL);
  self.position_ = static_cast<std::uint64_t>(target);
  return target;
}

} // namespace lanner::ffmpeg
