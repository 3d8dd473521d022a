#include "video/ffmpeg/write/subtitle_converter.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "base/check.h"

extern "C" {
#include <libavutil/common.h>
#include <libavutil/mathematics.h>
}

namespace lanner::ffmpeg {

namespace {

constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t last_milliseconds = 5000;  // Of a last subtitle without a duration.
constexpr std::int64_t together_milliseconds = 2; // What begins or ends so close does so together.

struct Target {
  std::string_view format;
  AVCodecID codec;
};
constexpr Target targets[] = {
    {"mp4", AV_CODEC_ID_MOV_TEXT}, {"mov", AV_CODEC_ID_MOV_TEXT},    {"ipod", AV_CODEC_ID_MOV_TEXT},
    {"webm", AV_CODEC_ID_WEBVTT},  {"matroska", AV_CODEC_ID_SUBRIP},
};

struct SubtitleGuard {
  AVSubtitle subtitle{};
  SubtitleGuard() = default;
  ~SubtitleGuard() { avsubtitle_free(&subtitle); }
  SubtitleGuard(const SubtitleGuard&) = delete;
  SubtitleGuard& operator=(const SubtitleGuard&) = delete;
};

CodecContextPtr make_context(const AVCodec* codec) {
  check(codec != nullptr, ErrorCode::unsupported, "subtitles: FFmpeg {} lacks a codec for them",
        av_version_info());
  CodecContextPtr context(avcodec_alloc_context3(codec));
  if (!context) throw std::bad_alloc();
  return context;
}

void open(AVCodecContext& context) {
  clear_logged_error();
  const int status = avcodec_open2(&context, context.codec, nullptr);
  check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::bad_data,
        "subtitles: {} cannot be used: {}", context.codec->name, error_text(status));
}

/// Text of an event of ASS: what follows its eighth comma.
std::string_view text_of(std::string_view line) {
  constexpr int fields = 8;
  std::size_t at = 0;
  for (int i = 0; i < fields && at != line.npos; ++i) {
    at = line.find(',', at);
    if (at != line.npos) ++at;
  }
  return at == line.npos ? std::string_view() : line.substr(at);
}

} // namespace

AVCodecID convertible_to(const AVOutputFormat& format, const AVStream& stream) {
  const AVCodecID from = stream.codecpar->codec_id;
  const AVCodecDescriptor* facts = avcodec_descriptor_get(from);
  const bool text = facts && facts->type == AVMEDIA_TYPE_SUBTITLE && facts->props & AV_CODEC_PROP_TEXT_SUB;
  if (!text || !avcodec_find_decoder(from)) return AV_CODEC_ID_NONE;
  const auto* target = std::ranges::find(targets, std::string_view(format.name), &Target::format);
  const bool can = target != std::end(targets) && avcodec_find_encoder(target->codec);
  return can ? target->codec : AV_CODEC_ID_NONE;
}

SubtitleConverter::SubtitleConverter(const AVStream& from, AVCodecID to, Write write)
    : decoder_(make_context(avcodec_find_decoder(from.codecpar->codec_id))),
      encoder_(make_context(avcodec_find_encoder(to))), write_(std::move(write)), tick_(from.time_base),
      joins_(to == AV_CODEC_ID_MOV_TEXT) {
  check(avcodec_parameters_to_context(decoder_.get(), from.codecpar) >= 0, ErrorCode::out_of_memory,
        "subtitles: memory was refused by the system");
  decoder_->pkt_timebase = tick_;
  open(*decoder_);
  encoder_->time_base = AVRational{1, 1000};
  const auto size = static_cast<std::size_t>(std::max(0, decoder_->subtitle_header_size));
  if (size > 0) { // Encoders read styles in it; the context frees it.
    encoder_->subtitle_header = static_cast<std::uint8_t*>(av_mallocz(size + 1));
    if (!encoder_->subtitle_header) throw std::bad_alloc();
    std::memcpy(encoder_->subtitle_header, decoder_->subtitle_header, size);
    encoder_->subtitle_header_size = static_cast<int>(size);
  }
  open(*encoder_);
}

void SubtitleConverter::describe(AVCodecParameters& parameters) const {
  check(avcodec_parameters_from_context(&parameters, encoder_.get()) >= 0, ErrorCode::out_of_memory,
        "subtitles: memory was refused by the system");
  parameters.codec_tag = 0;
}

std::int64_t SubtitleConverter::ticks(std::int64_t milliseconds) const {
  return std::max<std::int64_t>(1, av_rescale_q(milliseconds, AVRational{1, 1000}, tick_));
}

std::vector<std::string> SubtitleConverter::lines_of(const AVPacket& packet) {
  SubtitleGuard made;
  int got = 0;
  PacketPtr given = make_packet();
  check(av_packet_ref(given.get(), &packet) >= 0, ErrorCode::out_of_memory,
        "packet: memory was refused by the system");
  clear_logged_error();
  const int status = avcodec_decode_subtitle2(decoder_.get(), &made.subtitle, &got, given.get());
  check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::bad_data,
        "subtitles: the {} subtitle at {:.3f} s cannot be converted: {}; leave subtitles out",
        decoder_->codec->name, static_cast<double>(packet.pts) * av_q2d(tick_), error_text(status));
  std::vector<std::string> lines;
  for (unsigned i = 0; got && i < made.subtitle.num_rects; ++i)
    if (const char* line = made.subtitle.rects[i]->ass) lines.emplace_back(line);
  return lines;
}

void SubtitleConverter::send(const AVPacket& packet) {
  check(packet.pts != AV_NOPTS_VALUE, ErrorCode::invalid_argument, "subtitles: a packet without a time");
  const std::vector<std::string> lines = lines_of(packet);
  if (lines.empty()) return;
  if (!joins_) return write_lines(lines, packet.pts, packet.duration);
  if (open_)
    for (Event& event : shown_) event.end = std::min(event.end, packet.pts);
  show_until(packet.pts);
  open_ = packet.duration <= 0;
  for (const std::string& line : lines)
    shown_.push_back({open_ ? endless : av_sat_add64(packet.pts, packet.duration), line});
}

/// Writes what is shown before that time, a packet from one change to the next.
void SubtitleConverter::show_until(std::int64_t time) {
  while (!shown_.empty()) {
    const std::int64_t end = std::ranges::min_element(shown_, {}, &Event::end)->end;
    if (end > time) break;
    write_shown(end);
    const std::int64_t ended = av_sat_add64(end, ticks(together_milliseconds));
    std::erase_if(shown_, [&](const Event& event) { return event.end <= ended; });
  }
  if (!shown_.empty() && av_sat_sub64(time, since_) > ticks(together_milliseconds)) write_shown(time);
  if (shown_.empty()) since_ = time;
}

void SubtitleConverter::write_shown(std::int64_t end) {
  std::string line;
  for (const Event& event : shown_)
    line = line.empty() ? event.line : fmt::format("{}\\N{{\\r}}{}", line, text_of(event.line));
  if (end > since_) write_lines({line}, since_, av_sat_sub64(end, since_));
  since_ = std::max(since_, end);
}

void SubtitleConverter::finish() {
  for (Event& event : shown_)
    if (event.end == endless) event.end = av_sat_add64(since_, ticks(last_milliseconds));
  show_until(endless - 1);
}

void SubtitleConverter::write_lines(const std::vector<std::string>& lines, std::int64_t pts,
                                    std::int64_t duration) {
  std::vector<AVSubtitleRect> rects(lines.size());
  std::vector<AVSubtitleRect*> places;
  std::size_t size = 65536;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    rects[i].type = SUBTITLE_ASS;
    rects[i].ass = const_cast<char*>(lines[i].c_str());
    places.push_back(&rects[i]);
    size += 8 * lines[i].size();
  }
  AVSubtitle subtitle{};
  subtitle.num_rects = static_cast<unsigned>(rects.size());
  subtitle.rects = places.data();
  std::vector<std::uint8_t> bytes(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
  clear_logged_error();
  const int status =
      avcodec_encode_subtitle(encoder_.get(), bytes.data(), static_cast<int>(bytes.size()), &subtitle);
  check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::bad_data,
        "subtitles: the subtitle at {:.3f} s cannot be converted to {}: {}; leave subtitles out",
        static_cast<double>(pts) * av_q2d(tick_), encoder_->codec->name, error_text(status));
  if (status == 0) return;
  PacketPtr packet = make_packet();
  check(av_new_packet(packet.get(), status) >= 0, ErrorCode::out_of_memory,
        "packet: memory was refused by the system");
  std::memcpy(packet->data, bytes.data(), static_cast<std::size_t>(status));
  packet->pts = packet->dts = pts;
  packet->duration = duration;
  packet->flags |= AV_PKT_FLAG_KEY;
  write_(std::move(packet));
}

} // namespace lanner::ffmpeg
