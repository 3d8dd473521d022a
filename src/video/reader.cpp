#include <lanner/video_reader.h>

#include <algorithm>
#include <utility>

#include "video/sampling.h"
#include "video/stream_reader.h"

namespace lanner {

namespace {

Control control_of(const VideoReaderOptions& options) {
  return {options.demuxer.cancel, {}};
}

} // namespace

struct VideoReader::State {
  State(SourcePtr source, const VideoReaderOptions& options)
      : reader(std::move(source), options, control_of(options), false) {}
  StreamReader reader;
};

VideoReader::VideoReader(SourcePtr source, const VideoReaderOptions& options)
    : state_(std::make_unique<State>(std::move(source), options)) {}
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
  return state_->reader.cursor().decoder().description();
}
const std::string& VideoReader::decoder_reason() const noexcept {
  return state_->reader.cursor().decoder().reason();
}

std::int64_t VideoReader::size() {
  return state_->reader.size();
}
std::shared_ptr<const StreamIndex> VideoReader::index(const Control& control) {
  return state_->reader.index(&control);
}

std::optional<Frame> VideoReader::next() {
  return state_->reader.next();
}
Frame VideoReader::at(std::int64_t i) {
  return state_->reader.at(i);
}
std::vector<Frame> VideoReader::at(std::span<const std::int64_t> indices, const Control& control) {
  return state_->reader.at(indices, control);
}
Tensor VideoReader::batch(std::span<const std::int64_t> indices, const Preprocess& spec,
                          const Control& control) {
  return state_->reader.batch(indices, spec, control);
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
  state_->reader.rewind();
}

struct ParallelDecoder::State {
  State(SourcePtr source, const VideoReaderOptions& options, const Control& given_control)
      : control(given_control), reader(std::move(source), options, given_control, true) {
    parallel = reader.is_parallel();
  }
  const Control control;
  StreamReader reader;
  bool parallel = false;
  std::int64_t given = 0;
};

ParallelDecoder::ParallelDecoder(SourcePtr source, const VideoReaderOptions& options, const Control& control)
    : state_(std::make_unique<State>(std::move(source), options, control)) {}
ParallelDecoder::~ParallelDecoder() = default;
ParallelDecoder::ParallelDecoder(ParallelDecoder&&) noexcept = default;
ParallelDecoder& ParallelDecoder::operator=(ParallelDecoder&&) noexcept = default;

const StreamInfo& ParallelDecoder::stream() const noexcept {
  return state_->reader.cursor().stream();
}

std::int64_t ParallelDecoder::size() const noexcept {
  return state_->reader.known_size();
}

std::optional<Frame> ParallelDecoder::next() {
  std::optional<Frame> frame = state_->reader.next();
  if (!frame) return frame;
  const auto total = static_cast<double>(std::max<std::int64_t>(0, size()));
  state_->control.report({"decode", static_cast<double>(++state_->given), total, "frames"});
  return frame;
}

std::string ParallelDecoder::description() const {
  const StreamReader& reader = state_->reader;
  std::string one = reader.cursor().decoder().description();
  if (!state_->parallel) return one;
  return fmt::format("{} x {}, {} spans", reader.linear_workers().decoders, one, reader.spans());
}

const std::string& ParallelDecoder::decoder_reason() const noexcept {
  return state_->reader.cursor().decoder().reason();
}

} // namespace lanner
