#pragma once
// A codec without threads of its own, one packet ahead of its caller.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/threads/handed_task.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/frame_memory.h"

namespace lanner::ffmpeg {

/// Decodes the packet that was sent last on the process's pool of threads while the caller does other things.
/// What comes out, frames and errors in their order, is what the codec gives when it is called directly; it
/// comes with the next packet. One thread at a time; nobody else uses the codec meanwhile.
class CodecAhead {
public:
  /// Throws Error{out_of_memory} where the system gives no threads.
  CodecAhead(AVCodecContext& context, FrameMemory& memory);

  /// As send_marked(); null is the end.
  int send(PacketPtr packet, std::int64_t mark);
  /// As avcodec_receive_frame().
  int receive(AVFrame& frame);
  /// Whether memory for what came last was refused, as FrameMemory::take_refusal().
  bool take_refusal() noexcept { return std::exchange(refused_, false); }
  /// In a forked child: whether a thread of the parent was at work in the codec, which is then in no state at
  /// all, not to be freed either.
  bool lost() const noexcept { return forks_ != forks_seen() && task_.running(); }
  void abandon() noexcept { task_.abandon(); }

private:
  /// What the codec gave.
  struct Result {
    FramePtr frame; ///< Null for an error.
    int status = 0;
    std::string logged;
    bool refused = false;
  };
  void decode(const AVPacket* packet, std::int64_t mark);
  void finish();
  bool add(int status, FramePtr frame = nullptr);

  AVCodecContext& context_;
  FrameMemory& memory_;
  unsigned forks_ = forks_seen();
  std::shared_ptr<ThreadPool> pool_;
  PacketPtr packet_;           ///< That is being decoded.
  std::deque<Result> results_; ///< For the caller.
  std::deque<Result> coming_;  ///< The task's while it is pending.
  bool draining_ = false, refused_ = false;
  HandedTask task_; ///< Last: it uses all of the above.
};

} // namespace lanner::ffmpeg
