#include <lanner/video_reader.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/threads/sole_use.h"
#include "video/read/decode_ahead.h"
#include "video/read/sampling.h"
#include "video/read/stream_reader.h"

namespace lanner {

namespace {

Control control_of(const VideoReaderOptions& options) {
  return {options.demuxer.cancel, {}};
}

/// For another reader of the same source.
VideoReaderOptions options_again(const StreamReader& reader) {
  check(reader.source()->seekable(), ErrorCode::unsupported,
        "{}: its frames come once, as it cannot be read from its beginning again; expected a file or bytes",
        reader.source()->name());
  return reader.options();
}

} // namespace

struct VideoReader::State {
  State(SourcePtr source, const VideoReaderOptions& options)
      : reader(std::move(source), options, control_of(options), false) {}

  /// Calls `body(reader)` for a caller that is alone with it.
  template<typename Body>
  decltype(auto) alone(Body&& body) {
    const SoleUse::Call call(use);
    const DeadlineScope deadline(reader.options().demuxer.limits);
    return body(reader);
  }

  SoleUse use{"VideoReader"};
  StreamReader reader;
};

VideoReader::VideoReader(SourcePtr source, const VideoReaderOptions& options)
    : state_(std::make_unique<State>(std::move(source), options)) {}
VideoReader::VideoReader(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
VideoReader::~VideoReader() = default;
VideoReader::VideoReader(VideoReader&&) noexcept = default;
VideoReader& VideoReader::operator=(VideoReader&&) noexcept = default;

const StreamInfo& VideoReader::stream() const noexcept {
  return state_->reader.cursor().stream();
}
const Demuxer& VideoReader::demuxer() const noexcept {
  return state_->reader.cursor().demuxer();
}
std::string VideoReader::decoder_description() const {
  return state_->reader.decoder_description();
}
const std::string& VideoReader::decoder_reason() const noexcept {
  return state_->reader.cursor().decoder().reason();
}

std::int64_t VideoReader::size() {
  return state_->alone([](StreamReader& reader) { return reader.size(); });
}
std::shared_ptr<const StreamIndex> VideoReader::index(const Control& control) {
  return state_->alone([&](StreamReader& reader) { return reader.index(&control); });
}

std::optional<Frame> VideoReader::next() {
  return state_->alone([](StreamReader& reader) { return reader.next(); });
}
Frame VideoReader::at(std::int64_t i) {
  return state_->alone([&](StreamReader& reader) { return reader.at(i); });
}
std::vector<Frame> VideoReader::at(std::span<const std::int64_t> indices, const Control& control) {
  return state_->alone([&](StreamReader& reader) { return reader.at(indices, control); });
}
Tensor VideoReader::batch(std::span<const std::int64_t> indices, const Preprocess& spec,
                          const Control& control) {
  return state_->alone([&](StreamReader& reader) { return reader.batch(indices, spec, control); });
}

std::int64_t VideoReader::index_at(double seconds) {
  return lanner::index_at(*index(), seconds);
}
std::vector<std::int64_t> VideoReader::indices_played_in(double begin, double end) {
  return lanner::indices_played_in(*index(), begin, end);
}
std::vector<std::int64_t> VideoReader::sample(std::int64_t count) {
  return lanner::sample(*index(), count, state_->reader.options().demuxer.limits);
}
std::vector<std::int64_t> VideoReader::sample(Rational rate) {
  return lanner::sample(*index(), rate, state_->reader.options().demuxer.limits);
}
void VideoReader::rewind() {
  state_->alone([](StreamReader& reader) { reader.rewind(); });
}
VideoReader VideoReader::reopen(std::shared_ptr<const StreamIndex> index) const {
  VideoReaderOptions options = options_again(state_->reader);
  if (index) options.index = std::move(index);
  return VideoReader(std::make_unique<State>(state_->reader.source(), options));
}

void decode_ahead(VideoReader& reader, std::size_t readers) {
  const int shared = static_cast<int>(std::min<std::size_t>(readers, 1024));
  reader.state_->alone([&](StreamReader& own) { own.decode_ahead(shared); });
}

struct ParallelDecoder::State {
  State(SourcePtr source, const VideoReaderOptions& options, const Control& given_control)
      : control(given_control), reader(std::move(source), options, given_control, true) {
    const bool parallel = reader.is_parallel();
    description = reader.decoder_description();
    if (parallel)
      description =
          fmt::format("{} x {}, {} spans", reader.linear_workers().decoders, description, reader.spans());
    size = reader.known_size();
  }
  SoleUse use{"ParallelDecoder"};
  const Control control;
  StreamReader reader;
  std::string description;
  std::atomic<std::int64_t> size = -1; ///< What decoding teaches may change it.
  std::int64_t given = 0;
};

ParallelDecoder::ParallelDecoder(SourcePtr source, const VideoReaderOptions& options, const Control& control)
    : state_(std::make_unique<State>(std::move(source), options, control)) {}
ParallelDecoder::ParallelDecoder(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
ParallelDecoder::~ParallelDecoder() = default;
ParallelDecoder::ParallelDecoder(ParallelDecoder&&) noexcept = default;
ParallelDecoder& ParallelDecoder::operator=(ParallelDecoder&&) noexcept = default;

const StreamInfo& ParallelDecoder::stream() const noexcept {
  return state_->reader.cursor().stream();
}

std::int64_t ParallelDecoder::size() const noexcept {
  return state_->size.load(std::memory_order_relaxed);
}

std::optional<Frame> ParallelDecoder::next() {
  const SoleUse::Call call(state_->use);
  std::optional<Frame> frame = state_->reader.next();
  state_->size.store(state_->reader.known_size(), std::memory_order_relaxed);
  if (!frame) return frame;
  const auto total = static_cast<double>(std::max<std::int64_t>(0, size()));
  state_->control.report({"decode", static_cast<double>(++state_->given), total, "frames"});
  return frame;
}

const Demuxer& ParallelDecoder::demuxer() const noexcept {
  return state_->reader.cursor().demuxer();
}

void ParallelDecoder::rewind() {
  const SoleUse::Call call(state_->use);
  state_->reader.rewind();
  state_->given = 0;
}

ParallelDecoder ParallelDecoder::reopen(const Control& control) const {
  const StreamReader& reader = state_->reader;
  return ParallelDecoder(std::make_unique<State>(reader.source(), options_again(reader), control));
}

std::string ParallelDecoder::description() const {
  return state_->description;
}

const std::string& ParallelDecoder::decoder_reason() const noexcept {
  return state_->reader.cursor().decoder().reason();
}

} // namespace lanner
