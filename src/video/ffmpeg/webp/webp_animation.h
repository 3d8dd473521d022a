#pragma once
// Frames of an animated WebP, which FFmpeg does not decode, put together from still pictures, which it does.

#include <cstdint>
#include <deque>
#include <vector>

#include <lanner/limits.h>
#include <lanner/packet.h>

#include "video/bitstream/webp_chunks.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/frame_memory.h"

namespace lanner::ffmpeg {

// Note [Animated WebP]
// A packet is the chunk of a frame (ANMF), and the stream's extradata the head of the file, which tells the
// canvas. The decoder of still WebP gets a file made of the chunk's picture; what it gives is drawn here on
// the canvas, which begins transparent, whatever the file says of its background, as browsers and libwebp
// have it. Blending has libwebp's arithmetic, so that pixels are those of its users bit for bit.

/// The canvas of one stream. Frames are drawn in the order of their packets.
class WebpAnimation {
public:
  /// Throws Error{limit_exceeded}.
  WebpAnimation(const WebpCanvas& canvas, const Limits& limits);

  /// The still picture of packet `mark`, for the decoder; a packet may be given again. Throws
  /// Error{bad_data}: the frame is then lost.
  std::vector<std::byte> picture(const Packet& packet, std::int64_t mark);
  /// Replaces the decoded picture of packet `mark` by the whole canvas, in `memory`. False where it has not
  /// the frame's size; the frame is then lost. Throws std::bad_alloc where no more memory is lent.
  bool draw(FramePtr& picture, std::int64_t mark, const FrameMemory& memory);
  /// Of the frame that was drawn last: whether it needs none before; whether it misses one.
  bool key() const noexcept { return key_; }
  bool corrupt() const noexcept { return corrupt_; }
  /// The next packet may be any.
  void forget();

private:
  struct Sent {
    std::int64_t mark = 0;
    bool key = false;
    WebpFrame frame;
  };

  Sent take(std::int64_t mark);
  FramePtr canvas_for(const Sent& sent, const AVFrame& picture, const FrameMemory& memory);
  void paint(AVFrame& canvas, const Sent& sent, const Image& picture) const;

  WebpCanvas size_;
  Limits limits_;
  std::deque<Sent> sent_; ///< Not drawn yet.
  FramePtr shown_;        ///< The canvas that was drawn last, as it is shown.
  WebpFrame last_;        ///< Its frame.
  bool key_ = false, corrupt_ = false;
};

} // namespace lanner::ffmpeg
