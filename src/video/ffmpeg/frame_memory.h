#pragma once
// Memory of the pictures that a codec decodes into.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

// Note [Memory of decoded pictures]
// FFmpeg's own pool keeps every buffer that a codec ever had in use for as long as the codec lives: who held
// a thousand frames for a moment pays for them until the reader is gone. Here a few idle ones are kept, since
// fresh pages cost more than decoding into them, and the rest goes back to the system: by mappings of their
// own, as malloc would keep the memory beneath one picture that is still held.

/// Serves one codec context; pictures outlive it. Codecs' threads may ask at once.
class FrameMemory {
public:
  struct Layout; ///< Where the planes of a picture lie in one block.

  /// At most `bytes` are lent at a time: to the codec, to frames that wait, and to those that callers hold.
  explicit FrameMemory(std::uint64_t bytes);
  /// `context` decodes into this memory from now on; before it is opened.
  void serve(AVCodecContext& context);
  /// Memory for the pixels of `frame`, of one plane with rows of so many bytes, that no codec decodes into.
  /// False where no more is lent.
  bool lend_packed(AVFrame& frame, std::size_t row_bytes) const;
  /// Whether more was asked for since the last call. The codec takes it for damage.
  bool take_refusal() noexcept;
  /// Whether the codec, on whatever thread, spoke of an error since the last call.
  bool take_error() noexcept;
  /// The codec speaks of an error: of a context that serve() was called for, or a copy of it. Any thread.
  static void note_error(const AVCodecContext& context) noexcept;
  /// For a thread that received a picture from a codec: its memory was written by another.
  static void take_in() noexcept;

private:
  struct Idle;
  static int get_buffer(AVCodecContext* context, AVFrame* frame, int flags) noexcept;
  int fill(AVCodecContext& context, AVFrame& frame, int flags) const;
  int lend(AVFrame& frame, const Layout& layout) const;

  std::shared_ptr<Idle> idle_;
  std::atomic<bool> error_{false};
};

} // namespace lanner::ffmpeg
