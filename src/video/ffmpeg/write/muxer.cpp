#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <lanner/video_writer.h>

#include "base/check.h"
#include "base/file/file.h"
#include "base/text/joined.h"
#include "base/threads/sole_use.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/stream_info.h"
#include "video/ffmpeg/write/av_demuxer.h"
#include "video/ffmpeg/write/decoding_order.h"
#include "video/ffmpeg/write/movie_timescale.h"
#include "video/ffmpeg/write/output_io.h"
#include "video/ffmpeg/write/raw_pixels.h"
#include "video/ffmpeg/write/stream_copy.h"
#include "video/ffmpeg/write/stream_side_data.h"
#include "video/ffmpeg/write/subtitle_converter.h"
#include "video/write/stream_insert.h"

extern "C" {
#include <libavutil/mathematics.h>
#include <libavutil/opt.h>
}

namespace lanner::ffmpeg {

namespace {

struct OutputFree {
  void operator()(AVFormatContext* context) const { avformat_free_context(context); }
};

const AVOutputFormat* output_format(const std::string& path, const std::string& name) {
  // Only the extension is of interest: FFmpeg reads patterns in full names.
  const std::string extension = std::filesystem::path(path).extension().string();
  const AVOutputFormat* format =
      av_guess_format(name.empty() ? nullptr : name.c_str(),
                      name.empty() ? ("output" + extension).c_str() : nullptr, nullptr);
  check(format != nullptr, ErrorCode::unsupported,
        "{}: no container for {} '{}': expected a file name that ends in .mp4, .mkv, .webm, .avi, .mov or "
        ".ts, or a format name",
        path, name.empty() ? "extension" : "format", name.empty() ? extension : name);
  check(!(format->flags & AVFMT_NOFILE), ErrorCode::unsupported, "{}: format {} does not write one file",
        path, format->name);
  return format;
}

/// Containers that are whole when they are written from the first byte to the last.
const AVOutputFormat* stream_format(const std::string& name, const std::string& output) {
  constexpr std::string_view known[] = {"matroska", "webm",  "mpegts", "mp4",  "mov", "flv",
                                        "gif",      "mjpeg", "h264",   "hevc", "obu"};
  const bool listed = std::find(std::begin(known), std::end(known), name) != std::end(known);
  check(listed, ErrorCode::unsupported,
        "{}: container '{}' cannot be written without going back: expected {}", output, name,
        joined(known, ", "));
  const AVOutputFormat* format = av_guess_format(name.c_str(), nullptr, nullptr);
  check(format != nullptr, ErrorCode::unsupported, "{}: FFmpeg {} cannot write container '{}'", output,
        av_version_info(), name);
  return format;
}

/// Place of the next `00 00 01` from `begin` on, the end where there is none.
std::size_t start_code_at(std::span<const std::byte> bytes, std::size_t begin) {
  for (std::size_t i = begin; i + 3 <= bytes.size(); ++i)
    if (bytes[i] == std::byte{0} && bytes[i + 1] == std::byte{0} && bytes[i + 2] == std::byte{1}) return i;
  return bytes.size();
}

enum class Unit : std::uint8_t { headers, picture, other };

/// What begins behind a start code: H.264 7.4.1, H.265 7.4.2.2, MPEG-4 part 2 6.2.1.
Unit unit_of(AVCodecID codec, std::byte first) {
  const auto code = std::to_integer<unsigned>(first);
  if (codec == AV_CODEC_ID_H264) {
    const unsigned type = code & 31;
    return type == 7 ? Unit::headers : type >= 1 && type <= 5 ? Unit::picture : Unit::other;
  }
  if (codec == AV_CODEC_ID_HEVC) {
    const unsigned type = code >> 1 & 63;
    return type == 33 ? Unit::headers : type < 32 ? Unit::picture : Unit::other;
  }
  return code >= 0x20 && code <= 0x2F ? Unit::headers : code == 0xB6 ? Unit::picture : Unit::other;
}

/// Whether a packet of units with start codes comes to its picture without codec headers before.
bool lacks_headers(AVCodecID codec, std::span<const std::byte> bytes) {
  for (std::size_t at = start_code_at(bytes, 0); at + 3 < bytes.size(); at = start_code_at(bytes, at + 3)) {
    const Unit unit = unit_of(codec, bytes[at + 3]);
    if (unit != Unit::other) return unit == Unit::picture;
  }
  return false;
}

class FfmpegMuxer final : public Muxer {
public:
  FfmpegMuxer(const std::string& path, const MuxerOptions& options)
      : path_(path), file_(path), fragmented_(options.fragmented) {
    io_ = std::make_unique<FileIo>(*file_, true);
    create(output_format(path, options.format));
    check(!fragmented_ || is_mp4(), ErrorCode::invalid_argument,
          "{}: fragmented: is of MP4 and MOV, the container is {}", path_, format_);
    check(!options.plays || set_plays(*options.plays), ErrorCode::invalid_argument,
          "{}: plays {}: is of GIF, APNG and WebP, the container is {}", path_, options.plays.value_or(0),
          format_);
    set_metadata(options.metadata);
  }
  FfmpegMuxer(WriteCallback write, const std::string& format, const std::string& name) : path_(name) {
    const AVOutputFormat* container = stream_format(format, name);
    io_ = std::make_unique<StreamIo>(std::move(write));
    create(container);
    fragmented_ = is_mp4();
    context_->flush_packets = 1; // Whoever reads sees each picture when it is written.
  }

  const std::string& format() const noexcept override { return format_; }
  bool wants_global_header() const noexcept override { return context_->oformat->flags & AVFMT_GLOBALHEADER; }

  int add_stream(const StreamInfo& info) override {
    const SoleUse::Call call(use_);
    require_no_packet();
    const ParametersPtr parameters = to_parameters(info);
    check_codec(*parameters);
    check_headers(*parameters);
    check_raw_pixels(path_, format_, *parameters);
    const AVRational time_base = time_base_of(info);
    AVStream* stream = new_stream();
    check(avcodec_parameters_copy(stream->codecpar, parameters.get()) >= 0, ErrorCode::out_of_memory,
          "{}: memory was refused by the system", path_);
    adopt_tag(*stream->codecpar);
    stream->time_base = time_base;
    stream->avg_frame_rate = from_rational(info.average_rate);
    stream->sample_aspect_ratio = from_rational(info.sample_aspect);
    set_entries(&stream->metadata, info.metadata);
    if (info.mirror || info.rotation != 0) set_display(*stream, info.mirror, info.rotation);
    time_bases_.push_back(stream->time_base);
    orders_.emplace_back(stream->codecpar->video_delay);
    return stream->index;
  }

  std::string refusal(const Demuxer& from, int stream) const override {
    const AVStream& source = av_stream_of(from, stream);
    const std::string why_not = copy_refusal(*context_->oformat, source);
    const bool converted = convertible_to(*context_->oformat, source) != AV_CODEC_ID_NONE;
    return converted ? std::string() : why_not;
  }

  std::string converted_codec(const Demuxer& from, int stream) const override {
    const AVStream& source = av_stream_of(from, stream);
    if (copy_refusal(*context_->oformat, source).empty()) return {};
    const AVCodecID codec = convertible_to(*context_->oformat, source);
    return codec == AV_CODEC_ID_NONE ? std::string() : avcodec_get_name(codec);
  }

  int copy_stream(const Demuxer& from, int number) override {
    const SoleUse::Call call(use_);
    require_no_packet();
    const AVStream& source = av_stream_of(from, number);
    const std::string why_not = refusal(from, number);
    check(why_not.empty(), ErrorCode::unsupported, "{}: stream {} cannot be copied: {}", path_, number,
          why_not);
    check_headers(*source.codecpar);
    AVStream* stream = new_stream();
    describe_copy(*context_->oformat, source, *stream);
    if (!converted_codec(from, number).empty()) convert(source, *stream);
    const AVCodecTag* const* tables = context_->oformat->codec_tag;
    if (!tables || av_codec_get_id(tables, stream->codecpar->codec_tag) != stream->codecpar->codec_id)
      stream->codecpar->codec_tag = 0;
    time_bases_.push_back(stream->time_base);
    orders_.emplace_back(stream->codecpar->video_delay);
    return stream->index;
  }

  int copy_chapters(const Demuxer& from, double begin, double end) override {
    const SoleUse::Call call(use_);
    require_no_packet();
    if (!is_mp4() && format_ != "matroska" && format_ != "webm") return 0;
    return ffmpeg::copy_chapters(av_context_of(from), begin, end, *context_);
  }

  void set_metadata(const std::map<std::string, std::string>& metadata) override {
    require_no_packet();
    set_entries(&context_->metadata, metadata);
  }

  bool set_hdr(int stream, const HdrMetadata& hdr) override {
    require_no_packet();
    require_stream(stream);
    if (!is_mp4() && format_ != "matroska" && format_ != "webm") return false;
    ffmpeg::set_hdr(*context_->streams[stream], hdr);
    return true;
  }

  bool set_interlaced(int stream, bool top_field_first) override {
    require_no_packet();
    require_stream(stream);
    if (format_ != "mov" && format_ != "matroska") return false;
    context_->streams[stream]->codecpar->field_order = top_field_first ? AV_FIELD_TT : AV_FIELD_BB;
    return true;
  }

  bool set_plays(int plays) override {
    require_no_packet();
    check(plays >= 0 && plays <= 65535, ErrorCode::invalid_argument, "{}: plays {}, expected 0 to 65535",
          path_, plays);
    if (is_animation(format_)) plays_ = plays;
    return is_animation(format_);
  }

  void write(const Packet& packet) override {
    const SoleUse::Call call(use_);
    check(!ended_, ErrorCode::invalid_argument, "{}: packet after {}", path_,
          finished_ ? "finish()" : "complete()");
    require_stream(packet.stream);
    if (!begun_) adopt_headers(*context_->streams[packet.stream]->codecpar, packet);
    begin();
    if (context_->streams[packet.stream]->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT)
      return; // Is in the header.
    const auto stream = static_cast<std::size_t>(packet.stream);
    const std::vector<std::byte> whole = with_headers(packet);
    Packet given = packet;
    require_time(packet);
    if (const std::int64_t dts = orders_[stream].next(packet); given.dts == no_pts) given.dts = dts;
    if (!whole.empty()) given.bytes = whole;
    PacketPtr input = to_av(given);
    if (const auto converter = converters_.find(packet.stream); converter != converters_.end())
      return converter->second->send(*input);
    write_packet(std::move(input), packet.stream);
  }

  std::int64_t bytes() const noexcept override {
    // A muxer that goes back to fill in its header leaves the position there.
    const std::int64_t position = std::max<std::int64_t>(0, avio_tell(io_->context()));
    return file_ ? std::max(position, static_cast<std::int64_t>(file_->size())) : position;
  }

  void complete() override {
    const SoleUse::Call call(use_);
    check(!ended_, ErrorCode::invalid_argument, "{}: {} was called before", path_,
          finished_ ? "finish()" : "complete()");
    end();
  }

  void finish() override {
    const SoleUse::Call call(use_);
    check(!finished_, ErrorCode::invalid_argument, "{}: finish() was called before", path_);
    if (!ended_) end();
    finished_ = true;
    check(whole_, ErrorCode::invalid_argument, "{}: finish() behind a complete() that failed", path_);
    if (file_) file_->commit();
  }

private:
  /// Writes what is missing of the file.
  void end() {
    begin();
    ended_ = true;
    for (const auto& [stream, converter] : converters_) converter->finish();
    if (is_animation(format_)) set_last_delay();
    clear_logged_error();
    require(av_write_trailer(context_.get()), "end the file");
    avio_flush(io_->context());
    io_->rethrow();
    whole_ = true;
  }

  bool is_mp4() const { return format_ == "mp4" || format_ == "mov" || format_ == "ipod"; }

  /// In ticks of add_stream() and copy_stream().
  void write_packet(PacketPtr packet, int number) {
    const AVStream& stream = *context_->streams[number];
    packet->stream_index = number;
    av_packet_rescale_ts(packet.get(), time_bases_[static_cast<std::size_t>(number)], stream.time_base);
    packet->pos = -1;
    last_duration_ = packet->duration;
    clear_logged_error();
    require(av_interleaved_write_frame(context_.get(), packet.get()), "write a packet");
  }

  void convert(const AVStream& from, AVStream& to) {
    const int number = to.index;
    auto converter = std::make_unique<SubtitleConverter>(
        from, convertible_to(*context_->oformat, from),
        [this, number](PacketPtr packet) { write_packet(std::move(packet), number); });
    converter->describe(*to.codecpar);
    converters_.emplace(number, std::move(converter));
  }

  /// How often it is played, in each muxer's way.
  void add_plays(Dictionary& settings) const {
    if (format_ == "gif") // Counts what follows the first time; -1 leaves the number out.
      settings.set("loop", plays_ == 0 ? "0" : std::to_string(plays_ == 1 ? -1 : plays_ - 1));
    else
      settings.set(format_ == "apng" ? "plays" : "loop", std::to_string(plays_));
  }

  /// These muxers take a frame's duration from the time of the next one: of the last one they are told.
  void set_last_delay() {
    constexpr std::int64_t most = 65535; // 16 bits, of hundredths of a second or of a fraction's terms.
    void* options = context_->priv_data;
    if (last_duration_ <= 0 || !options) return;
    const AVRational tick = context_->streams[0]->time_base;
    if (format_ == "gif")
      av_opt_set_int(options, "final_delay",
                     std::min(most, av_rescale_q(last_duration_, tick, AVRational{1, 100})), 0);
    if (format_ != "apng") return;
    AVRational delay{};
    const std::int64_t length = std::min(last_duration_, INT64_MAX / std::max(1, tick.num)) * tick.num;
    av_reduce(&delay.num, &delay.den, length, tick.den, most);
    av_opt_set_q(options, "final_delay", delay, 0);
  }

  void require_no_packet() const {
    check(!begun_, ErrorCode::invalid_argument, "{}: described after the first packet", path_);
  }
  void require_stream(int stream) const {
    check(stream >= 0 && static_cast<std::size_t>(stream) < time_bases_.size(), ErrorCode::invalid_argument,
          "{}: no stream {}; {} were added", path_, stream, time_bases_.size());
  }

  bool has_times() const { return !(context_->oformat->flags & AVFMT_NOTIMESTAMPS); }

  /// FFmpeg would guess.
  void require_time(const Packet& packet) const {
    const AVRational base = time_bases_[static_cast<std::size_t>(packet.stream)];
    check(!has_times() || packet.pts != no_pts, ErrorCode::invalid_argument,
          "{}: a packet of stream {} has no pts; {} needs one, in ticks of {}/{} s", path_, packet.stream,
          format_, base.num, base.den);
    constexpr std::int64_t most = std::int64_t{1} << 62;
    for (const std::int64_t time : {packet.pts, packet.dts})
      check(time == no_pts || (time >= -most && time <= most), ErrorCode::invalid_argument,
            "{}: a packet of stream {} at {} ticks, which no file can hold", path_, packet.stream, time);
  }

  AVRational time_base_of(const StreamInfo& info) const {
    const bool known = info.time_base.num > 0 && info.time_base.den > 0;
    check(known || !has_times(), ErrorCode::invalid_argument,
          "{}: the {} stream has no time base; expected seconds of a tick, like 1/90000", path_, info.codec);
    constexpr AVRational milliseconds{1, 1000}; // Of no effect in a bare stream.
    return known ? from_rational(info.time_base) : milliseconds;
  }

  /// FFmpeg itself tells only of some.
  void check_codec(const AVCodecParameters& parameters) const {
    check(holds(*context_->oformat, parameters), ErrorCode::unsupported,
          "{}: container {} cannot hold {}; matroska holds nearly every codec", path_,
          context_->oformat->name, avcodec_get_name(parameters.codec_id));
  }

  AVStream* new_stream() {
    AVStream* stream = avformat_new_stream(context_.get(), nullptr);
    if (!stream) throw std::bad_alloc();
    return stream;
  }

  void create(const AVOutputFormat* format) {
    AVFormatContext* context = nullptr;
    const int status = avformat_alloc_output_context2(&context, format, nullptr, nullptr);
    context_.reset(context);
    check(status >= 0, ErrorCode::out_of_memory, "{}: memory was refused by the system", path_);
    format_ = format->name;
    context->pb = io_->context();
    context->flags |= AVFMT_FLAG_CUSTOM_IO;
    context->opaque = this;
    context->io_open = reopen;
    context->io_close2 = [](AVFormatContext*, AVIOContext*) {
      return 0;
    }; // Both views belong to this object.
  }

  // FFmpeg would write a file that nothing plays.
  void check_headers(const AVCodecParameters& parameters) const {
    const bool needs = parameters.codec_id == AV_CODEC_ID_H264 || parameters.codec_id == AV_CODEC_ID_HEVC;
    check(!wants_global_header() || parameters.extradata_size > 0 || !needs, ErrorCode::invalid_argument,
          "{}: container {} keeps codec headers apart and the {} stream has none apart; create its encoder "
          "with "
          "global_header set",
          path_, context_->oformat->name, avcodec_get_name(parameters.codec_id));
  }

  /// A keyframe of an encoder that was told to keep its headers apart, with these in front for a container
  /// that has no other place for them; empty where nothing is to be added.
  std::vector<std::byte> with_headers(const Packet& packet) const {
    const AVCodecParameters& stream = *context_->streams[packet.stream]->codecpar;
    const bool known = stream.codec_id == AV_CODEC_ID_H264 || stream.codec_id == AV_CODEC_ID_HEVC ||
                       stream.codec_id == AV_CODEC_ID_MPEG4;
    if (wants_global_header() || !packet.key || !known || stream.extradata_size < 4) return {};
    const std::span headers(reinterpret_cast<const std::byte*>(stream.extradata),
                            static_cast<std::size_t>(stream.extradata_size));
    // avcC and hvcC begin with their version, which is 1: FFmpeg takes these apart by itself.
    if (headers[0] != std::byte{0} || !lacks_headers(stream.codec_id, packet.bytes)) return {};
    std::vector<std::byte> whole(headers.begin(), headers.end());
    whole.insert(whole.end(), packet.bytes.begin(), packet.bytes.end());
    return whole;
  }

  /// libaom and rav1e have AV1's headers in the first packet alone, and Matroska has them in front.
  static void adopt_headers(AVCodecParameters& stream, const Packet& first) {
    if (stream.codec_id != AV_CODEC_ID_AV1 || stream.extradata_size > 0) return;
    const std::vector<std::byte> headers = StreamInserter("av1").headers_of(first.bytes);
    if (!headers.empty()) set_extradata(stream, headers);
  }

  // A tag from another container (a demuxed stream) is kept only where this one knows it.
  void adopt_tag(AVCodecParameters& parameters) const {
    const bool encoded = parameters.codec_tag == 0 && parameters.extradata_size > 0;
    const AVCodecTag* const* tables = context_->oformat->codec_tag;
    if (!tables || av_codec_get_id(tables, parameters.codec_tag) != parameters.codec_id)
      parameters.codec_tag = 0;
    // Some players take no other tag; it promises that all headers lie apart, as the encoder was told.
    const unsigned hvc1 = MKTAG('h', 'v', 'c', '1');
    const bool knows_hvc1 = tables && av_codec_get_id(tables, hvc1) == AV_CODEC_ID_HEVC;
    if (parameters.codec_id == AV_CODEC_ID_HEVC && encoded && knows_hvc1) parameters.codec_tag = hvc1;
  }

  void begin() {
    if (begun_) return;
    check(!time_bases_.empty(), ErrorCode::invalid_argument, "{}: no stream was added", path_);
    Dictionary settings;
    // Players may start before the whole file has arrived. The index of a file in fragments waits for the
    // first of them, whose times say where the stream begins (its edit list).
    settings.set("movflags",
                 fragmented_ ? "+frag_keyframe+empty_moov+delay_moov+default_base_moof" : "+faststart");
    if (is_animation(format_)) add_plays(settings);
    add_movie_timescale(*context_, time_bases_, settings);
    clear_logged_error();
    const int status = avformat_write_header(context_.get(), settings.out());
    io_->rethrow();
    check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::unsupported,
          "{}: container {} refuses the stream: {}", path_, context_->oformat->name, error_text(status));
    begun_ = true;
  }

  void require(int status, const char* what) {
    io_->rethrow();
    if (reread_) reread_->rethrow();
    check(status >= 0, error_code(status) == ErrorCode::io ? ErrorCode::io : ErrorCode::invalid_argument,
          "{}: cannot {}: {}", path_, what, error_text(status));
  }

  // To move the header to the front, the muxer opens its own output for reading. Nothing else may be opened.
  static int reopen(AVFormatContext* context, AVIOContext** io, const char*, int flags,
                    AVDictionary**) noexcept {
    auto& self = *static_cast<FfmpegMuxer*>(context->opaque);
    if (flags & AVIO_FLAG_WRITE || !self.file_) return AVERROR(EPERM);
    try {
      self.reread_ = std::make_unique<FileIo>(*self.file_, false);
      *io = self.reread_->context();
      return 0;
    } catch (...) {
      return AVERROR(ENOMEM);
    }
  }

  SoleUse use_{"Muxer"};
  std::string path_;
  std::string format_;
  std::optional<AtomicFile> file_; ///< None of a stream.
  bool fragmented_ = false;
  std::unique_ptr<OutputIo> io_;
  std::unique_ptr<FileIo> reread_;
  std::unique_ptr<AVFormatContext, OutputFree> context_;
  std::vector<DecodingOrder> orders_; ///< Of each stream.
  std::vector<AVRational> time_bases_;
  std::map<int, std::unique_ptr<SubtitleConverter>> converters_; ///< By the stream that they write.
  int plays_ = 0;                                                ///< Of an animation; 0 is without end.
  std::int64_t last_duration_ = 0; ///< Of the packet written last, in its stream's ticks.
  bool begun_ = false, ended_ = false, whole_ = false, finished_ = false;
};

} // namespace

std::unique_ptr<Muxer> create_muxer(const std::string& path, const MuxerOptions& options) {
  return std::make_unique<FfmpegMuxer>(path, options);
}

std::unique_ptr<Muxer> create_stream_muxer(WriteCallback write, const std::string& format,
                                           const std::string& name) {
  return std::make_unique<FfmpegMuxer>(std::move(write), format, name);
}

} // namespace lanner::ffmpeg
