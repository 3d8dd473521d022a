#include <lanner/video_writer.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/threads/sole_use.h"
#include "video/write/animation.h"
#include "video/write/audio_output.h"
#include "video/write/clip_times.h"
#include "video/write/encoder_options.h"
#include "video/write/last_picture.h"
#include "video/write/resized.h"
#include "video/write/stream_copier.h"

namespace lanner {

namespace {

bool is_mp4(std::string_view format) {
  return format == "mp4" || format == "mov" || format == "ipod";
}

/// `told`, where it says nothing as in `other`.
ColorInfo completed(const ColorInfo& told, const ColorInfo& other) {
  constexpr std::uint8_t unspecified = 2;
  ColorInfo color = told;
  if (color.matrix == ColorMatrix::unspecified) color.matrix = other.matrix;
  if (color.range == ColorRange::unspecified) color.range = other.range;
  if (color.siting == ChromaSiting::unspecified) color.siting = other.siting;
  if (color.primaries == unspecified) color.primaries = other.primaries;
  if (color.transfer == unspecified) color.transfer = other.transfer;
  return color;
}

/// `clip.mp4`, `clip_2.mp4`, `clip_3.mp4`.
std::string segment_path(const std::string& path, std::size_t number) {
  if (number == 0) return path;
  const std::filesystem::path whole(path);
  const std::string name =
      fmt::format("{}_{}{}", whole.stem().string(), number + 1, whole.extension().string());
  return (whole.parent_path() / name).string();
}

} // namespace

struct VideoWriter::State {
  State(std::unique_ptr<Muxer> made, const std::string& file, const VideoWriterOptions& given)
      : options(given), encoding(given.encoder), path(file), muxer(std::move(made)) {
    check(muxer != nullptr, ErrorCode::invalid_argument, "VideoWriter: no muxer was given");
    check_encoder_options(encoding, false);
    check(options.on_size_change != SizeChange::segment || !path.empty(), ErrorCode::invalid_argument,
          "VideoWriter: size changes cannot begin segments of an output that is no file; expected scale or "
          "pad");
    if (!path.empty()) paths.push_back(path);
    check(!options.muxer.plays || muxer->set_plays(*options.muxer.plays), ErrorCode::invalid_argument,
          "VideoWriter: plays {}: is of GIF, APNG and WebP, the container is {}",
          options.muxer.plays.value_or(0), muxer->format());
    encoding.global_header = muxer->wants_global_header();
    if (!options.copied.begin) options.copied.begin = options.begin;
    if (options.audio)
      audio.emplace(*options.audio, options.on_size_change == SizeChange::segment, options.note);
    if (options.copied.source) copier.emplace(options.copied, options.note);
    const bool told =
        encoding.width > 0 && encoding.height > 0 && encoding.color.matrix != ColorMatrix::unspecified;
    if (told && !takes_format() && !is_animation(muxer->format()) && encoding.time_base.den > 0) open();
  }

  void tell(const std::string& line) const {
    if (options.note) options.note(line);
  }

  bool takes_format() const { return options.keep_format && is_lossless(encoding); }

  // Without a size or colours of its own the file takes those of its first picture.
  void open_for(const Image& first) {
    if (encoder) return;
    if (encoding.time_base.den <= 0) encoding.time_base = {encoding.rate.den, encoding.rate.num};
    if (encoding.width <= 0) encoding.width = first.width;
    if (encoding.height <= 0) encoding.height = first.height;
    if (takes_format()) encoding.format = first.format;
    take_colors(first);
    if (is_animation(muxer->format())) encoding.format = animation_format(muxer->format(), encoding, first);
    open();
  }

  /// Those that are not given are the first picture's; RGB has no matrix and range of YUV. What that leaves
  /// open too is not written: an encoder would write what it assumes.
  void take_colors(const Image& first) {
    ColorInfo color = first.color;
    const bool yuv = format_info(first.format).yuv;
    if (!yuv) color.matrix = ColorMatrix::unspecified, color.range = ColorRange::unspecified;
    if (!yuv || encoding.color.matrix == ColorMatrix::unspecified)
      encoding.color = completed(encoding.color, color);
    const bool one_matrix = encoding.codec == "mjpeg" || encoding.codec == "webp";
    if (!yuv || !format_info(encoding.format).yuv || one_matrix || !encoding.device.is_host()) return;
    if (encoding.color.matrix == ColorMatrix::unspecified) encoding.codec_options.emplace("colorspace", "2");
    if (encoding.color.range == ColorRange::unspecified) encoding.codec_options.emplace("color_range", "0");
  }

  void open() {
    encoder = create_encoder(encoding);
    StreamInfo info = encoder->stream();
    check(!is_animation(muxer->format()) || info.codec == muxer->format(), ErrorCode::invalid_argument,
          "VideoWriter: container {0} holds the codec {0} alone, got {1}; give codec {0}", muxer->format(),
          info.codec);
    const std::string note = animation_note(muxer->format(), encoding.rate.to_double());
    if (!note.empty() && paths.size() <= 1) tell(note);
    info.metadata = options.stream_metadata;
    if (copier)
      for (const auto& [key, value] : copier->stream_tags()) info.metadata.emplace(key, value);
    const bool turned = options.mirror || options.rotation != 0;
    if (turned && is_mp4(muxer->format()))
      info.mirror = options.mirror, info.rotation = options.rotation;
    else if (turned && paths.size() <= 1)
      tell(fmt::format("rotation by {:g} degrees is left out: {} cannot hold it", options.rotation,
                       muxer->format()));
    stream = muxer->add_stream(info);
    const HdrMetadata hdr = told_hdr();
    if (!hdr.empty() && !muxer->set_hdr(stream, hdr) && paths.size() <= 1)
      tell(fmt::format(
          "mastering display and content light are kept in the video stream only: {} cannot hold them",
          muxer->format()));
    if (options.fields != VideoFields::progressive)
      muxer->set_interlaced(stream, options.fields == VideoFields::top_first);
    if (audio) audio->declare(*muxer, times ? times->origin() : options.begin.value_or(0), segment_begin);
    if (copier) copier->declare(*muxer, origin() + segment_begin);
    muxer->set_metadata(options.muxer.metadata); // Wins against what is copied.
  }

  /// What the encoder was told wins.
  HdrMetadata told_hdr() const {
    HdrMetadata hdr = options.hdr;
    if (encoding.mastering_display) hdr.mastering = encoding.mastering_display;
    if (encoding.content_light) hdr.light = encoding.content_light;
    return hdr;
  }

  /// Seconds of the copied container's clock at 0 of the file.
  double origin() const { return options.copied.begin.value_or(times ? times->origin() : 0.0); }

  void write(const Image& image, std::int64_t pts, std::int64_t duration) {
    open_for(image);
    if (pts == no_pts) pts = next_pts;
    check(last_pts == no_pts || pts > last_pts, ErrorCode::invalid_argument,
          "VideoWriter: pts {} after pts {}; expected presentation order", pts, last_pts);
    encode(image, pts, duration);
  }

  void encode(const Image& image, std::int64_t pts, std::int64_t duration) {
    if (image.width != encoding.width || image.height != encoding.height)
      return encode_other_size(image, pts, duration);
    changed_width = changed_height = 0;
    encode_fitting(image, pts, duration);
  }

  void encode_fitting(const Image& image, std::int64_t pts, std::int64_t duration) {
    if (first_pts == no_pts) first_pts = pts;
    distance = frames > 0 ? pts - last_pts : 0;
    last_pts = pts;
    last_duration = duration;
    const std::int64_t begin = segment_ticks;
    if (duration > 0) durations[pts - begin] = duration;
    tell_of_opacity(image);
    if (options.picture) options.picture(image, seconds_of(pts, encoding.time_base));
    send(&image, pts - begin);
    ++frames;
    next_pts = pts + (duration > 0 ? duration : step());
    if (!begun) return; // The first packet tells the container what the video is.
    if (audio) audio->write_until(seconds_of(pts, encoding.time_base));
    if (copier) copier->write_until(*muxer, seconds_of(pts - begin, encoding.time_base));
  }

  void tell_of_opacity(const Image& image) {
    if (opacity_told || !format_info(image.format).has_alpha()) return;
    opacity_told = true;
    if (!format_info(encoder->stream().format).has_alpha())
      tell(fmt::format("opacity of {} pictures is left out: the file's pixel format is {}",
                       to_string(image.format), encoder->stream().native_format));
  }

  void encode_other_size(const Image& image, std::int64_t pts, std::int64_t duration) {
    const std::string which = fmt::format("frame {} ({:.3f} s)", frames, seconds_of(pts, encoding.time_base));
    const SizeChange how = options.on_size_change;
    check(how != SizeChange::error || frames == 0, ErrorCode::invalid_argument,
          "{} is {}x{}, those before are {}x{}, and a file has one size; scale or pad it, or begin a segment "
          "(on_size_change)",
          which, image.width, image.height, encoding.width, encoding.height);
    check(how != SizeChange::error, ErrorCode::invalid_argument,
          "picture of {}x{}, the file has {}x{}; scale or pad it (on_size_change)", image.width, image.height,
          encoding.width, encoding.height);
    const bool anew = image.width != changed_width || image.height != changed_height;
    changed_width = image.width, changed_height = image.height;
    if (how == SizeChange::segment) {
      begin_segment(image, pts, which);
      return encode_fitting(image, pts, duration);
    }
    if (anew)
      tell(fmt::format("{}: the size changes to {}x{}; it is {} {}x{}", which, image.width, image.height,
                       how == SizeChange::scale ? "scaled to" : "padded to", encoding.width,
                       encoding.height));
    encode_fitting(fitted_image(image, encoding.width, encoding.height, how), pts, duration);
  }

  /// The files get their names together, in finish().
  void begin_segment(const Image& image, std::int64_t pts, const std::string& which) {
    end_encoder();
    const double seconds = seconds_of(pts, encoding.time_base);
    if (copier) copier->write_until(*muxer, seconds - segment_begin);
    bytes_before += muxer->bytes();
    done.push_back(std::move(muxer));
    paths.push_back(segment_path(path, done.size()));
    tell(fmt::format("{}: the size changes to {}x{}; {} begins{}", which, image.width, image.height,
                     paths.back(), replaces(paths.back()) ? ", in place of the file of this name" : ""));
    muxer = create_muxer(paths.back(), options.muxer);
    segment_ticks = pts;
    segment_begin = seconds;
    encoding.width = image.width, encoding.height = image.height;
    changed_width = changed_height = 0;
    open();
  }

  /// Whether there is a file of this name, which the caller did not give. It is not the clip that is read.
  bool replaces(const std::string& file) const {
    std::error_code ignored;
    const bool there = std::filesystem::exists(file, ignored);
    const bool is_read = there && options.copied.source &&
                         std::filesystem::equivalent(options.copied.source->name(), file, ignored);
    check(!is_read, ErrorCode::invalid_argument,
          "{}: a segment of {} would overwrite the clip that is read; give the output another name", file,
          path);
    return there;
  }

  void end_encoder() {
    while (!encoder->send(nullptr)) drain();
    std::optional<Packet> last;
    while (std::optional<Packet> packet = encoder->receive()) {
      if (last) write_packet(std::move(*last));
      last = std::move(packet);
    }
    if (last) write_packet(std::move(*last), true);
    tell_of_last_duration();
    if (options.packet) options.packet(nullptr, encoder->stream());
    encoder.reset();
    first_pts = no_pts;
    durations.clear();
    begun = false;
  }

  void send(const Image* image, std::int64_t pts) {
    while (!encoder->send(image, pts)) drain();
    drain();
  }

  void drain() {
    while (std::optional<Packet> packet = encoder->receive()) write_packet(std::move(*packet));
  }

  /// `last`: in decoding order.
  void write_packet(Packet packet, bool last = false) {
    packet.stream = stream;
    if (muxer->format() == "webp") packet = with_last_duration(std::move(packet), milliseconds());
    const auto known = durations.find(packet.pts);
    if (known != durations.end())
      packet.duration = known->second;
    else if (packet.duration <= 0)
      packet.duration = step();
    if (known != durations.end()) durations.erase(known);
    if (!begun) shown = {first_pts - segment_ticks, packet.dts, no_pts};
    shown.end = last_pts - segment_ticks + last_length();
    if (last && is_mp4(muxer->format())) end_decoding_with(shown, packet);
    if (options.packet) options.packet(&packet, encoder->stream());
    muxer->write(packet);
    begun = true;
  }

  /// Ticks for which the last picture is shown.
  std::int64_t last_length() const { return last_duration > 0 ? last_duration : step(); }

  /// Where it is longer than readers of the file will take it to be.
  void tell_of_last_duration() {
    constexpr double of_one = 0.1;
    const bool one = distance == 0 && !is_steady(muxer->format());
    const double length = seconds_of(last_duration, encoding.time_base);
    const double usual = one ? of_one : seconds_of(distance > 0 ? distance : step(), encoding.time_base);
    if (length <= 1.5 * usual || duration_told) return;
    duration_told = true;
    if (!tells_last_duration(muxer->format()))
      tell(fmt::format("the duration of the last frame, {:.3f} s, is left out: {} cannot hold it", length,
                       muxer->format()));
    else if (frames == 1 && (muxer->format() == "apng" || muxer->format() == "webp"))
      tell(fmt::format("the duration of the only frame, {:.3f} s, is left out: {} of one frame is a picture",
                       length, muxer->format()));
  }

  /// From the first picture of the file to the end of the last one.
  std::int64_t milliseconds() const {
    return std::llround((seconds() - seconds_of(first_pts, encoding.time_base)) * 1000);
  }

  // Ticks of one frame at the nominal rate.
  std::int64_t step() const {
    const double seconds = static_cast<double>(encoding.rate.den) / static_cast<double>(encoding.rate.num);
    return std::max<std::int64_t>(1,
                                  static_cast<std::int64_t>(seconds / encoding.time_base.to_double() + 0.5));
  }

  // Frames with times of their own.

  void write_frame(const Frame& frame) {
    if (!times) {
      const Rational base = encoding.time_base.den > 0 ? encoding.time_base : frame.time_base;
      times.emplace(base, ClipTimes::Target{muxer->format(), encoding.codec, encoding.rate, options.begin},
                    options.note);
    }
    if (held) write_held(in_source(frame, frame.pts));
    if (!times->fits(in_source(frame, frame.pts))) {
      held = frame; // The one behind tells whether the clock began anew.
      return;
    }
    place(frame, no_pts);
  }

  std::int64_t in_source(const Frame& frame, std::int64_t ticks) const {
    return ticks == no_pts || frame.time_base.den <= 0 ? ticks
                                                       : rescaled(ticks, frame.time_base, times->source());
  }

  void write_held(std::int64_t following) {
    const Frame frame = std::move(*held);
    held.reset();
    place(frame, following);
  }

  void place(const Frame& frame, std::int64_t following) {
    const std::int64_t pts =
        times->next(in_source(frame, frame.pts), in_source(frame, frame.duration), following);
    if (!encoder) {
      encoding.time_base = times->time_base();
      open_for(frame.image);
    }
    encode(frame.image, pts, times->length());
  }

  void finish() {
    if (held) write_held(no_pts);
    check(encoder != nullptr && frames > 0, ErrorCode::invalid_argument,
          "VideoWriter: no picture was written");
    end_encoder();
    if (times) times->finish();
    if (audio) audio->finish();
    if (copier) copier->write_rest(*muxer);
    // A disk that is full is found before a segment replaces a file.
    for (const std::unique_ptr<Muxer>& before : done) before->complete();
    muxer->complete();
    for (const std::unique_ptr<Muxer>& before : done) before->finish();
    muxer->finish();
    finished = true;
  }

  double seconds() const {
    if (last_pts == no_pts) return 0;
    return seconds_of(last_pts + last_length(), encoding.time_base);
  }

  SoleUse use{"VideoWriter"};
  VideoWriterOptions options;
  EncoderOptions encoding;
  std::string path;
  std::vector<std::string> paths;
  std::unique_ptr<Muxer> muxer;
  std::vector<std::unique_ptr<Muxer>> done; ///< Segments that are whole but for their names.
  std::optional<AudioOutput> audio;
  std::optional<StreamCopier> copier;
  std::optional<ClipTimes> times; ///< Of frames with times of their own.
  std::optional<Frame> held;      ///< Its time does not follow the one before.
  std::unique_ptr<Encoder> encoder;
  int stream = 0;
  std::int64_t first_pts = no_pts; ///< Of the segment.
  std::int64_t last_pts = no_pts, last_duration = 0, next_pts = 0, frames = 0;
  std::int64_t distance = 0;                      ///< From the picture before to the last one.
  ShownSpan shown;                                ///< Of the segment.
  std::map<std::int64_t, std::int64_t> durations; ///< By pts, of the images that are being encoded.
  std::int64_t segment_ticks = 0;
  double segment_begin = 0; ///< Seconds.
  std::int64_t bytes_before = 0;
  std::int32_t changed_width = 0, changed_height = 0; ///< Of the pictures that are being fitted.
  bool begun = false;                                 ///< The file has a packet of video.
  bool opacity_told = false, duration_told = false;
  bool finished = false;
};

VideoWriter::VideoWriter(const std::string& path, const EncoderOptions& options)
    : VideoWriter(path, VideoWriterOptions(options)) {}
VideoWriter::VideoWriter(std::unique_ptr<Muxer> muxer, const EncoderOptions& options)
    : VideoWriter(std::move(muxer), VideoWriterOptions(options)) {}
VideoWriter::VideoWriter(const std::string& path, const VideoWriterOptions& options)
    : state_(std::make_unique<State>(create_muxer(path, options.muxer), path, options)) {}
VideoWriter::VideoWriter(std::unique_ptr<Muxer> muxer, const VideoWriterOptions& options)
    : state_(std::make_unique<State>(std::move(muxer), "", options)) {}
VideoWriter::~VideoWriter() = default;
VideoWriter::VideoWriter(VideoWriter&&) noexcept = default;
VideoWriter& VideoWriter::operator=(VideoWriter&&) noexcept = default;

void VideoWriter::write(const Image& image, std::int64_t pts, std::int64_t duration) {
  const SoleUse::Call call(state_->use);
  check(!state_->finished, ErrorCode::invalid_argument, "VideoWriter: write() after finish()");
  check(!state_->times, ErrorCode::invalid_argument,
        "VideoWriter: a picture after frames with times of their own; expected a Frame");
  state_->write(image, pts, duration);
}

void VideoWriter::write(const Frame& frame) {
  const SoleUse::Call call(state_->use);
  check(!state_->finished, ErrorCode::invalid_argument, "VideoWriter: write() after finish()");
  check(state_->times || state_->frames == 0, ErrorCode::invalid_argument,
        "VideoWriter: a Frame after pictures with ticks; expected a picture");
  state_->write_frame(frame);
}

void VideoWriter::write_audio(const Tensor& samples, std::optional<double> seconds) {
  const SoleUse::Call call(state_->use);
  check(!state_->finished, ErrorCode::invalid_argument, "VideoWriter: write_audio() after finish()");
  check(state_->audio.has_value(), ErrorCode::invalid_argument,
        "VideoWriter: write_audio() into a file without audio; give the audio's options when it is opened");
  state_->audio->take(samples, seconds);
}

void VideoWriter::write_audio(const AudioSamples& samples) {
  const bool differs = state_->audio && samples.sample_rate != state_->audio->sample_rate();
  check(!differs, ErrorCode::invalid_argument, "write_audio: samples at {} Hz, expected {} Hz",
        samples.sample_rate, state_->audio ? state_->audio->sample_rate() : 0);
  if (samples.size() == 0) return;
  write_audio(samples.data, samples.pts_seconds);
}

void VideoWriter::finish() {
  const SoleUse::Call call(state_->use);
  check(!state_->finished, ErrorCode::invalid_argument, "VideoWriter: finish() was called before");
  state_->finish();
}

std::int64_t VideoWriter::bytes() const noexcept {
  return state_->bytes_before + state_->muxer->bytes();
}

double VideoWriter::seconds() const noexcept {
  return state_->seconds();
}

const std::vector<std::string>& VideoWriter::paths() const noexcept {
  return state_->paths;
}

std::string_view to_string(SizeChange change) noexcept {
  constexpr std::string_view names[] = {"error", "scale", "pad", "segment"};
  return names[static_cast<std::size_t>(change)];
}

SizeChange parse_size_change(std::string_view name) {
  for (const SizeChange change : {SizeChange::error, SizeChange::scale, SizeChange::pad, SizeChange::segment})
    if (to_string(change) == name) return change;
  fail(ErrorCode::invalid_argument, "on_size_change: '{}' is not one of scale, pad, segment, error", name);
}

} // namespace lanner
