#pragma once
// Where FFmpeg's muxers write to.

#include <cstdint>
#include <exception>
#include <utility>

#include <lanner/muxer.h>

#include "base/file/file.h"
#include "video/ffmpeg/byte_io.h"
#include "video/ffmpeg/library.h"

namespace lanner::ffmpeg {

/// FFmpeg's view of an output. Errors cannot pass through C: they are kept and thrown by rethrow().
class OutputIo {
public:
  virtual ~OutputIo() = default;
  AVIOContext* context() noexcept { return io_.get(); }
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

protected:
  using Read = int (*)(void*, std::uint8_t*, int);
  using Write = int (*)(void*, WriteBytes, int);
  using Seek = std::int64_t (*)(void*, std::int64_t, int);
  void open(void* self, bool writes, Read read, Write write, Seek seek);

  std::exception_ptr error_;
  AvioPtr io_;
};

/// One view of a file that is being written: to write it, or to read what was written.
class FileIo final : public OutputIo {
public:
  FileIo(AtomicFile& file, bool writes);

private:
  static int write(void* opaque, WriteBytes bytes, int size) noexcept;
  static int read(void* opaque, std::uint8_t* into, int size) noexcept;
  static std::int64_t seek(void* opaque, std::int64_t offset, int whence) noexcept;

  AtomicFile& file_;
  std::uint64_t position_ = 0;
};

/// What takes bytes in order and never goes back.
class StreamIo final : public OutputIo {
public:
  explicit StreamIo(WriteCallback take);

private:
  static int write(void* opaque, WriteBytes bytes, int size) noexcept;

  WriteCallback take_;
};

} // namespace lanner::ffmpeg
