#include "video/ffmpeg/write/output_io.h"

#include <cstdio>
#include <new>

extern "C" {
#include <libavutil/error.h>
#include <libavutil/mem.h>
}

namespace lanner::ffmpeg {

void OutputIo::open(void* self, bool writes, Read read, Write write, Seek seek) {
  constexpr int buffer_bytes = 64 << 10;
  auto* buffer = static_cast<unsigned char*>(av_malloc(buffer_bytes));
  if (!buffer) throw std::bad_alloc();
  io_.reset(avio_alloc_context(buffer, buffer_bytes, writes, self, read, write, seek));
  if (io_) return;
  av_free(buffer);
  throw std::bad_alloc();
}

FileIo::FileIo(AtomicFile& file, bool writes) : file_(file) {
  open(this, writes, read, write, seek);
}

int FileIo::write(void* opaque, WriteBytes bytes, int size) noexcept {
  auto& self = *static_cast<FileIo*>(opaque);
  if (self.error_) return AVERROR_EXIT;
  try {
    const auto count = static_cast<std::size_t>(size);
    self.file_.write_at(self.position_, {reinterpret_cast<const std::byte*>(bytes), count});
    self.position_ += count;
    return size;
  } catch (...) {
    self.error_ = std::current_exception();
    return AVERROR_EXIT;
  }
}

int FileIo::read(void* opaque, std::uint8_t* into, int size) noexcept {
  auto& self = *static_cast<FileIo*>(opaque);
  try {
    const std::span<std::byte> span{reinterpret_cast<std::byte*>(into), static_cast<std::size_t>(size)};
    const std::size_t count = self.file_.read_at(self.position_, span);
    self.position_ += count;
    return count ? static_cast<int>(count) : AVERROR_EOF;
  } catch (...) {
    self.error_ = std::current_exception();
    return AVERROR_EXIT;
  }
}

std::int64_t FileIo::seek(void* opaque, std::int64_t offset, int whence) noexcept {
  auto& self = *static_cast<FileIo*>(opaque);
  const auto size = static_cast<std::int64_t>(self.file_.size());
  whence &= ~AVSEEK_FORCE;
  if (whence == AVSEEK_SIZE) return size;
  const std::int64_t base = whence == SEEK_SET   ? 0
                            : whence == SEEK_CUR ? static_cast<std::int64_t>(self.position_)
                                                 : size;
  if (base + offset < 0) return AVERROR(EINVAL);
  self.position_ = static_cast<std::uint64_t>(base + offset);
  return base + offset;
}

StreamIo::StreamIo(WriteCallback take) : take_(std::move(take)) {
  open(this, true, nullptr, write, nullptr);
  io_->seekable = 0;
}

int StreamIo::write(void* opaque, WriteBytes bytes, int size) noexcept {
  auto& self = *static_cast<StreamIo*>(opaque);
  if (self.error_) return AVERROR_EXIT;
  try {
    self.take_({reinterpret_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)});
    return size;
  } catch (...) {
    self.error_ = std::current_exception();
    return AVERROR_EXIT;
  }
}

} // namespace lanner::ffmpeg
