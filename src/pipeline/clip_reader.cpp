#include "pipeline/clip_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <lanner/error.h>

#include "base/check.h"
#include "base/threads/thread_name.h"
#include "pipeline/frame_choice.h"
#include "video/read/decode_ahead.h"
#include "video/read/frame_budget.h"
#include "video/read/frame_conversion.h"

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;

} // namespace

ClipReader::ClipReader(std::size_t clip, OpenClip open, const PipelineOptions& options,
                       std::size_t clip_readers, const CancelToken& cancel)
    : clip_(clip), open_(std::move(open)), options_(options), clip_readers_(clip_readers), items_(1, cancel),
      thread_([this] { work(); }) {
  name_thread(thread_, "lanner-decode");
}

ClipReader::~ClipReader() {
  items_.close();
  thread_.join();
}

ClipItem ClipReader::next() {
  std::optional<ClipItem> item = items_.pop();
  check(item.has_value(), ErrorCode::internal, "pipeline: clip {} was asked for frames after its end", clip_);
  return std::move(*item);
}

void ClipReader::work() {
  try {
    ClipItem end;
    try {
      end = decode_all();
    } catch (...) {
      end.error = std::current_exception();
    }
    end.clip = clip_;
    end.ended = true;
    items_.push(std::move(end));
  } catch (...) { // Cancelled: there is no reader any more.
    items_.abort(std::current_exception());
  }
}

/// Decodes all frames; returns the end item.
ClipItem ClipReader::decode_all() {
  check(static_cast<bool>(open_), ErrorCode::invalid_argument, "pipeline: clip {} has no function to open it",
        clip_);
  VideoReader reader = std::exchange(open_, nullptr)();
  decode_ahead(reader, clip_readers_);
  ChosenFrames frames(std::move(reader), options_.range);
  items_.set_capacity(queue_capacity(frames.stream()));
  for (std::int64_t number = 0; items_.wait_for_room(); ++number) {
    options_.cancel.check();
    const auto start = Clock::now();
    const TraceScope scope(options_.trace, "decode", "decode", number);
    std::optional<Frame> frame = frames.next();
    if (!frame) break;
    rotate_upright(*frame); // Answers and drawings refer to the upright frame.
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    items_.push({clip_, std::move(*frame), seconds, false, nullptr});
  }
  return {};
}

/// Capacity of the queue: as many batches as requested, less what other readers hold, fewer for large
/// pictures.
std::size_t ClipReader::queue_capacity(const StreamInfo& stream) const {
  const std::size_t batches = std::clamp<std::size_t>(options_.queue, 1, 1024);
  const auto frames = batches * static_cast<std::size_t>(std::max(1, options_.batch));
  const auto most =
      static_cast<int>(std::min<std::size_t>((frames + clip_readers_ - 1) / clip_readers_, 1u << 20));
  return static_cast<std::size_t>(fitting(budget_of_frames({}) / clip_readers_, picture_bytes(stream), most));
}

} // namespace lanner
