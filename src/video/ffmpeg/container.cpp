#include "video/ffmpeg/container.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "video/ffmpeg/library.h"

namespace lanner::ffmpeg {

namespace {

// Note [Nested opens]
// Some formats are lists of other files: playlists, concat scripts, numbered images. A file of one name must
// not make Lanner read another, so they are refused by name right after probing; every open that FFmpeg asks
// for goes to `io_open`, which refuses it; and formats that open contexts of their own inherit a protocol
// whitelist that matches nothing. The source's name never reaches FFmpeg, which would otherwise read patterns
// and extensions in it.
constexpr std::string_view nesting_formats[] = {
    "hls",  "applehttp", "concat", "dash",     "imf",  "image2", "webm_dash_manifest",
    "rtsp", "sdp",       "vobsub", "avisynth", "lavfi"};

bool nests(const AVInputFormat& format) {
  std::string_view names = format.name;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    if (std::find(std::begin(nesting_formats), std::end(nesting_formats), name) != std::end(nesting_formats))
      return true;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return false;
}

// FFmpeg says ENOMEM also for sizes that no memory could hold, of which it asked the system for none.
bool can_allocate(std::uint64_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  ::munmap(memory, bytes);
  return true;
}

} // namespace

Container::Container(SourcePtr source, const DemuxerOptions& options)
    : options_(options), source_(std::move(source)), stop_(options.cancel, options.limits.seconds),
      reader_(std::make_unique<SourceReader>(source_, stop_)) {
  clear_logged_error();
  open(choose_format());
  probe_streams();
}

void Container::reopen() {
  const AVInputFormat* format = context_->iformat;
  context_.reset();
  reader_ = std::make_unique<SourceReader>(source_, stop_);
  clear_logged_error();
  open(format);
  probe_streams();
}

PacketPtr Container::read() {
  PacketPtr packet = make_packet();
  while (true) {
    stop_.check();
    clear_logged_error();
    const int status = av_read_frame(context_.get(), packet.get());
    reader_->rethrow();
    if (status == AVERROR(EAGAIN)) continue;
    if (status == AVERROR_EOF) {
      // Containers that end before their own tables say so only by an error in the log.
      if (has_logged_error()) damage_ = fmt::format("{}: ends early: {}", name(), error_text(status));
      return nullptr;
    }
    if (status < 0) fail_reading("read", status);
    check_limit("packet_bytes", static_cast<std::uint64_t>(packet->size), options_.limits.packet_bytes,
                "{}: packet of {} bytes", name(), packet->size);
    return packet;
  }
}

bool Container::seek(int stream, std::int64_t target, int flags) {
  if (stream >= static_cast<int>(context_->nb_streams)) return false; // Shown late, and not yet again.
  clear_logged_error();
  seek_status_ = av_seek_frame(context_.get(), stream, target, flags);
  reader_->rethrow();
  stop_.check();
  return seek_status_ >= 0;
}

void Container::fail_seeking() {
  fail_reading("seek", seek_status_);
}

void Container::fail_reading(std::string_view what, int status) {
  reader_->rethrow();
  stop_.check();
  if (!refused_.empty())
    fail(ErrorCode::unsupported,
         "{}: asks to open another file, '{}': refused (allow_nested_opens permits it)", name(), refused_);
  check(status != AVERROR(ENOMEM) ||
            !can_allocate(std::min<std::uint64_t>(options_.limits.packet_bytes, 1u << 31)),
        ErrorCode::bad_data,
        "{}: cannot {}: a size in it is beyond the limit packet_bytes of {}, so it must be damaged", name(),
        what, options_.limits.packet_bytes);
  const ErrorCode code = error_code(status);
  fail(code == ErrorCode::cancelled ? ErrorCode::bad_data : code, "{}: cannot {}: {}", name(), what,
       error_text(status));
}

const AVInputFormat* Container::choose_format() {
  const AVInputFormat* format = nullptr;
  if (!options_.format.empty()) {
    format = av_find_input_format(options_.format.c_str());
    check(format != nullptr, ErrorCode::unsupported,
          "{}: no demuxer '{}' in FFmpeg {}; leave the format empty to probe", name(), options_.format,
          av_version_info());
  } else {
    const int status = probe_format(reader_->context(), &format);
    if (status == AVERROR_INVALIDDATA) {
      reader_->rethrow();
      stop_.check();
      check(source_->size() != 0, ErrorCode::bad_data, "{}: the file is empty; expected a clip or a picture",
            name());
      fail(ErrorCode::bad_data,
           "{}: no known video or image format: expected a container such as MP4, MKV or AVI, "
           "or an elementary stream",
           name());
    }
    if (status < 0) fail_reading("probe the format", status);
  }
  check(options_.allow_nested_opens || !nests(*format), ErrorCode::unsupported,
        "{}: format {} would open other files: refused (allow_nested_opens permits it)", name(),
        format->name);
  return format;
}

void Container::open(const AVInputFormat* format) {
  AVFormatContext* context = avformat_alloc_context();
  if (!context) throw std::bad_alloc();
  context->pb = reader_->context();
  context->flags |= AVFMT_FLAG_CUSTOM_IO;
  context->opaque = this;
  context->interrupt_callback = {interrupted, this};
  context->max_streams = static_cast<int>(std::min<std::uint32_t>(options_.limits.streams, 1u << 20));
  if (!options_.allow_nested_opens) context->io_open = refuse_open;
  Dictionary settings;
  settings.set("protocol_whitelist", options_.allow_nested_opens ? "file" : "none");
  const std::string url = options_.allow_nested_opens ? name() : "";
  const int status = avformat_open_input(&context, url.c_str(), format, settings.out());
  context_.reset(context); // Null after a failure: FFmpeg has freed it.
  if (status < 0) fail_reading(fmt::format("open as {}", format->name), status);
}

void Container::probe_streams() {
  // Probing decodes pictures, too.
  const auto pixels = static_cast<std::int64_t>(std::min<std::uint64_t>(options_.limits.pixels, INT64_MAX));
  std::vector<AVDictionary*> settings(context_->nb_streams);
  for (AVDictionary*& one : settings) av_dict_set_int(&one, "max_pixels", pixels, 0);
  const int status = avformat_find_stream_info(context_.get(), settings.data());
  for (AVDictionary*& one : settings) av_dict_free(&one);
  if (status < 0) fail_reading("read the streams", status);
  reader_->rethrow();
  stop_.check();
}

int Container::interrupted(void* self) {
  return static_cast<Container*>(self)->stop_.stopped();
}

int Container::refuse_open(AVFormatContext* context, AVIOContext**, const char* url, int,
                           AVDictionary**) noexcept {
  auto* self = static_cast<Container*>(context->opaque);
  try {
    self->refused_.clear();
    for (const char* c = url; *c && self->refused_.size() < 200; ++c)
      self->refused_ +=
          static_cast<unsigned char>(*c) < 0x20 || static_cast<unsigned char>(*c) >= 0x7f ? '?' : *c;
  } catch (...) { // Without the name the refusal still stands.
  }
  return AVERROR(EPERM);
}

} // namespace lanner::ffmpeg
