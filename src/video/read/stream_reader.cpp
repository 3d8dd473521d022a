#include "video/read/stream_reader.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "video/index/source_identity.h"
#include "video/read/batch_sink.h"
#include "video/read/damaged_picture.h"
#include "video/read/frame_budget.h"
#include "video/read/shared_source.h"

namespace lanner {

static void check_ahead(const VideoReaderOptions& options) {
  check(options.decoders >= 0 && options.prefetch >= 0 && options.stream >= -1, ErrorCode::invalid_argument,
        "reader: decoders is {}, prefetch {}, stream {}; expected 0 or more, and -1 for the best stream",
        options.decoders, options.prefetch, options.stream);
  if (options.decoder.latency != Latency::low) return;
  check(options.prefetch == 0, ErrorCode::invalid_argument,
        "reader: latency low, by which nothing is decoded ahead, and prefetch {} exclude each other; leave "
        "one out",
        options.prefetch);
  check(options.decoders <= 1, ErrorCode::invalid_argument,
        "reader: latency low, by which nothing is decoded ahead, and decoders {} exclude each other; leave "
        "one out",
        options.decoders);
}

StreamReader::StreamReader(SourcePtr source, const VideoReaderOptions& options, const Control& control,
                           bool ahead)
    : source_(shared_source(std::move(source))), options_(options), control_(control), always_ahead_(ahead),
      finish_(finish_by(options)), serial_(source_, options), description_(cursor().decoder().description()),
      cursors_(std::make_shared<CursorPool>(source_, options)),
      linear_reader_(std::make_shared<LinearReader>(source_, options)) {
  check_ahead(options);
  serial_.cursor().set_stop({control_.cancel, {}});
  const Device device = cursor().decoder().device();
  if (!device.is_host()) gpu_ = nvdec::resources(cursor().stream(), options_.decoder, device);
  choose_linear_workers();
  if (options_.index) adopt_given();
}

void StreamReader::choose_linear_workers() {
  WorkSize work{.gpu = gpu(), .picture = picture_bytes(cursor().stream()), .readers = readers_};
  if (parts_) work.spans = parts_->plan.size(), work.frames = parts_->content->size();
  linear_ = choose_workers(options_, work);
}

void StreamReader::decode_ahead(int readers) {
  if (!gpu_) return;
  always_ahead_ = true;
  readers_ = std::max(1, readers);
  choose_linear_workers();
}

IndexRequest StreamReader::request(const Control& control) const {
  return {source_, options_.demuxer, options_.decoder, cursor().stream().index, options_.cache_index,
          control};
}

// A source that cannot go back cannot be told by its bytes: there the packets alone are compared.
void StreamReader::adopt_given() {
  const ContentPtr content = content_of(*options_.index);
  check(
      !source_->seekable() || content->identity == source_identity(*source_), ErrorCode::invalid_argument,
      "{}: the index that was given is of another clip; expected that of a reader of the same file, or none",
      source_->name());
  adopt(options_.index);
}

void StreamReader::adopt(std::shared_ptr<const StreamIndex> index) {
  check(index->stream == cursor().stream().index, ErrorCode::invalid_argument,
        "index: of stream {}, this reader reads stream {}", index->stream, cursor().stream().index);
  kept_.clear();
  parts_ = std::make_shared<StreamParts>(content_of(*index));
  index_ = std::move(index);
  choose_linear_workers();
}

std::shared_ptr<const StreamIndex> StreamReader::index(const Control* control) {
  if (!index_) adopt(obtain_index(request(control ? *control : control_)));
  return index_;
}

// Frames given so far keep their numbers only in the settled list.
void StreamReader::settle() {
  stop_ahead();
  adopt(settle_index(request(control_), *index()));
  settled_here_ = true;
}

QueueBound StreamReader::bound() const {
  QueueBound bound;
  bound.bytes = choose_frame_bytes(options_, gpu(), readers_);
  if (options_.prefetch > 0) bound.frames = static_cast<std::size_t>(options_.prefetch);
  return bound;
}

bool StreamReader::is_parallel() {
  if (one_decoder_ || !source_->seekable() || linear_workers().decoders < 2) return false;
  index();
  return parts_->content->named && linear_workers().decoders > 1;
}

void StreamReader::stop_ahead() {
  spans_ahead_.reset();
  serial_ahead_.reset();
  serial_.cursor().set_stop({control_.cancel, {}}); // Whoever worked ahead has left a token that is set.
}

void StreamReader::start_ahead() {
  if (is_parallel()) {
    SpanWork work{parts_,  jobs_from(*parts_->content, parts_->plan, last_ + 1),
                  finish_, linear_workers(),
                  bound(), control_.cancel};
    spans_ahead_ = std::make_unique<SpanScheduler>(std::move(work), cursors_, linear_reader_);
    return;
  }
  if (parts_ && serial_.parts() != parts_) serial_.adopt(parts_);
  // One decoder gains nothing by being far ahead, and memory that was used just now is still in the cache.
  constexpr std::size_t frames_ahead = 4;
  constexpr std::uint64_t bytes_ahead = 256ull << 20;
  QueueBound near = bound();
  if (options_.prefetch <= 0) near = {std::min(near.bytes, bytes_ahead), frames_ahead};
  // To look for a turn is no work for a thread.
  const StreamInfo& stream = cursor().stream();
  const bool turns = options_.rotate && (stream.mirror || quarter_turns(stream.rotation) != 0);
  const bool apart = options_.format || options_.preprocess || turns;
  serial_ahead_ =
      std::make_unique<SerialAhead>(serial_, last_ + 1, SerialFinish{finish_, apart}, near, control_.cancel);
}

std::optional<Frame> StreamReader::next_ahead() {
  if (!spans_ahead_ && !serial_ahead_) start_ahead();
  return spans_ahead_ ? spans_ahead_->next() : serial_ahead_->next();
}

std::optional<Frame> StreamReader::next_here() {
  if (parts_ && serial_.parts() != parts_) serial_.adopt(parts_);
  if (serial_.last() == last_) return serial_.next(finish_);
  return last_ + 1 < parts_->content->size() ? std::optional(serial_.seek(last_ + 1, finish_)) : std::nullopt;
}

// With the frame's number and time in front, as far as they are known.
Error StreamReader::located(const DamagedPicture& damage, std::int64_t next, const std::string& near) const {
  if (damage.pts() == no_pts) return damage.Error::within(near);
  const std::int64_t named = parts_ ? parts_->content->index_by_ordinal(damage.pts()) : -1;
  const std::int64_t number = named >= 0 ? named : next;
  const std::int64_t pts = named >= 0 ? parts_->content->frame(named).pts : damage.shown_at();
  const std::string frame = number >= 0 ? fmt::format("frame {}", number) : near;
  const std::string time =
      pts == no_pts ? "" : fmt::format(" ({:.3f} s)", seconds_of(pts, cursor().stream().time_base));
  return {ErrorCode::bad_data, fmt::format("{}{}: {}", frame, time, damage.reason())};
}

// A forked child has none of its parent's threads, and decoders with threads have lost what they were at.
void StreamReader::mind_fork() {
  if (forks_ == forks_seen() || spans_ahead_ || serial_ahead_) return; // Who works ahead says so.
  check(
      !gpu_, ErrorCode::unsupported,
      "{}: this process was forked after the GPU was opened, which a child cannot use; open the video in the "
      "child, or start it by spawn",
      source_->name());
  forks_ = forks_seen();
  cursors_ = std::make_shared<CursorPool>(source_, options_);
  linear_reader_ = std::make_shared<LinearReader>(source_, options_);
  if (!begun_) return;
  if (last_ >= 0) index();
  serial_.lose_place();
}

std::optional<Frame> StreamReader::next() {
  mind_fork();
  begun_ = true;
  kept_.clear();
  options_.demuxer.cancel.check(); // Frames that wait decoded are not given either.
  while (true) {
    try {
      // Matroska leaves out times below 0: those behind them tell, however far away.
      const bool began = last_ >= 0 || spans_ahead_ || serial_ahead_;
      if (!began && source_->seekable() && serial_.lacks_first_time()) index();
      std::optional<Frame> frame = always_ahead_ || options_.prefetch > 0 ? next_ahead() : next_here();
      if (frame) last_ = frame->index;
      return frame;
    } catch (const DamagedPicture& damage) { // A decoder gives frames in order: it would have been the next.
      throw located(damage, last_ + 1,
                    last_ < 0 ? "before the first frame" : fmt::format("behind frame {}", last_));
    } catch (const IndexContradicted&) {
      check(!one_decoder_, ErrorCode::bad_data, "frame {} could not be decoded again", last_ + 1);
      one_decoder_ = settled_again();
      settle();
    }
  }
}

void StreamReader::require_frame(std::int64_t i) {
  check(i >= 0 && i < size(), ErrorCode::invalid_argument,
        "frame {} is out of range: the stream has {} frames", i, size());
}

// Note [Stepping back]
// A frame by its number costs the decoding of all that it depends on, nearly a GOP for the last ones of one.
// Who asks for the frame before the one given last asks for the one before that next: so the frames in front
// of it, down to a keyframe and as far as memory allows, are kept when they are decoded on the way anyway.

std::int64_t StreamReader::first_kept_before(std::int64_t i) const {
  constexpr std::uint64_t most = 32, most_bytes = 256ull << 20;
  const std::uint64_t bytes = std::max<std::uint64_t>(1, picture_bytes(cursor().stream()));
  const std::uint64_t limit = std::min(most_bytes, budget_of_frames(options_.decoder.limits) / 4);
  const auto count = static_cast<std::int64_t>(std::clamp<std::uint64_t>(limit / bytes, 1, most));
  std::int64_t first = i;
  while (first > 0 && first > i - count + 1 && !index_->frames[static_cast<std::size_t>(first)].key) --first;
  return first;
}

Frame StreamReader::seek(std::int64_t i) {
  if (!kept_.empty() && kept_.back().index == i) {
    Frame frame = std::move(kept_.back());
    kept_.pop_back();
    return frame;
  }
  kept_.clear();
  if (i + 1 != last_) return serial_.seek(i, finish_);
  try {
    for (std::int64_t k = first_kept_before(i); k < i; ++k) kept_.push_back(serial_.seek(k, finish_));
  } catch (const DamagedPicture&) { // Of a frame that nobody has asked for yet.
    kept_.clear();
  }
  return serial_.seek(i, finish_);
}

Frame StreamReader::at(std::int64_t i) {
  mind_fork();
  begun_ = true;
  stop_ahead();
  while (true) {
    require_frame(i);
    if (serial_.parts() != parts_) serial_.adopt(parts_);
    try {
      Frame frame = seek(i);
      last_ = i;
      return frame;
    } catch (const DamagedPicture& damage) {
      throw located(damage, -1, fmt::format("on the way to frame {}", i));
    } catch (const IndexContradicted&) {
      check(!settled_again(), ErrorCode::bad_data, "frame {} could not be decoded again", i);
      settle();
    }
  }
}

void StreamReader::gather_once(const std::vector<std::int64_t>& wanted, const FrameFinish& finish,
                               const std::function<void(Frame)>& give) {
  if (!parts_->content->named || one_decoder_) {
    begun_ = true;
    const std::int64_t place = last_;
    stop_ahead();
    if (serial_.parts() != parts_) serial_.adopt(parts_);
    for (const std::int64_t i : wanted) give(serial_.seek(i, finish));
    last_ = place;
    return;
  }
  SpanWork work{parts_, jobs_for(*parts_->content, parts_->plan, wanted), finish, {}, {}, control_.cancel};
  work.workers =
      choose_workers(options_, {work.jobs.size(), -1, true, gpu(), picture_bytes(cursor().stream())});
  work.bound.bytes = choose_frame_bytes(options_, gpu());
  if (work.workers.decoders == 1) return run_jobs(work, *cursors_, *linear_reader_, give);
  SpanScheduler scheduler(std::move(work), cursors_, linear_reader_);
  while (auto frame = scheduler.next()) give(std::move(*frame));
}

// Gives each wanted frame once; `wanted` rises.
void StreamReader::gather(const std::vector<std::int64_t>& wanted, const FrameFinish& finish,
                          const Control& control, const std::function<void(Frame)>& give) {
  mind_fork();
  std::size_t given = 0;
  const auto count = [&](Frame frame) {
    give(std::move(frame));
    ++given;
    control.report({"decode", static_cast<double>(given), static_cast<double>(wanted.size()), "frames"});
    control.cancel.check();
  };
  while (given < wanted.size()) {
    require_frame(wanted.back());
    try {
      gather_once({wanted.begin() + static_cast<std::ptrdiff_t>(given), wanted.end()}, finish, count);
    } catch (const DamagedPicture& damage) {
      throw located(damage, -1, fmt::format("on the way to frame {}", wanted[given]));
    } catch (const IndexContradicted&) {
      check(!one_decoder_, ErrorCode::bad_data, "frame {} could not be decoded again", wanted[given]);
      one_decoder_ = settled_again();
      settle();
    }
  }
}

namespace {

std::vector<std::int64_t> rising(std::span<const std::int64_t> indices) {
  std::vector<std::int64_t> wanted(indices.begin(), indices.end());
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

} // namespace

std::vector<Frame> StreamReader::at(std::span<const std::int64_t> indices, const Control& control) {
  for (const std::int64_t i : indices) require_frame(i);
  const std::vector<std::int64_t> wanted = rising(indices);
  std::vector<Frame> found;
  found.reserve(wanted.size());
  gather(wanted, finish_, control, [&](Frame frame) { found.push_back(std::move(frame)); });
  std::vector<Frame> frames;
  frames.reserve(indices.size());
  for (const std::int64_t i : indices)
    frames.push_back(
        found[static_cast<std::size_t>(std::lower_bound(wanted.begin(), wanted.end(), i) - wanted.begin())]);
  return frames;
}

Tensor StreamReader::batch(std::span<const std::int64_t> indices, const Preprocess& spec,
                           const Control& control) {
  for (const std::int64_t i : indices) require_frame(i);
  const StreamInfo& stream = cursor().stream();
  if (indices.empty()) {
    std::int32_t width = stream.width, height = stream.height;
    if (options_.rotate && quarter_turns(stream.rotation) % 2) std::swap(width, height);
    return Tensor::allocate(spec.dtype, batch_shape(0, spec, width, height), {},
                            options_.decoder.output.value_or(cursor().decoder().device()));
  }
  BatchSink sink(indices, spec, options_.decoder);
  const auto take = [&](Frame& frame) {
    if (options_.rotate) rotate_upright(frame, options_.decoder.stream);
    sink.take(frame);
  };
  gather(rising(indices), take, control, [](const Frame&) {});
  return sink.result();
}

void StreamReader::rewind() {
  if (!std::exchange(begun_, false)) return; // Sources that cannot go back need not.
  stop_ahead();
  kept_.clear();
  serial_.rewind();
  last_ = -1;
}

} // namespace lanner
