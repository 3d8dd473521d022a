#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/file/file.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "image/orientation.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/frame.h"
#include "video/ffmpeg/frame_memory.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/picture_parts.h"
#include "video/ffmpeg/pixel_format.h"
#include "video/ffmpeg/webp/webp_animation.h"
#include "video/ffmpeg/write/encoder_choice.h"

namespace lanner::ffmpeg {

namespace {

struct Signature {
  std::string_view magic;
  AVCodecID codec;
};

using namespace std::string_view_literals;

constexpr Signature signatures[] = {
    {"\x89PNG\r\n\x1a\n"sv, AV_CODEC_ID_PNG},
    {"\xff\xd8\xff"sv, AV_CODEC_ID_MJPEG},
    {"BM"sv, AV_CODEC_ID_BMP},
    {"GIF8"sv, AV_CODEC_ID_GIF},
    {"II*\0"sv, AV_CODEC_ID_TIFF},
    {"MM\0*"sv, AV_CODEC_ID_TIFF},
    {"P1"sv, AV_CODEC_ID_PBM},
    {"P2"sv, AV_CODEC_ID_PGM},
    {"P3"sv, AV_CODEC_ID_PPM},
    {"P4"sv, AV_CODEC_ID_PBM},
    {"P5"sv, AV_CODEC_ID_PGM},
    {"P6"sv, AV_CODEC_ID_PPM},
    {"P7"sv, AV_CODEC_ID_PAM},
};

AVCodecID image_codec(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min<std::size_t>(bytes.size(), 16));
  for (const Signature& signature : signatures)
    if (text.substr(0, signature.magic.size()) == signature.magic) return signature.codec;
  if (text.substr(0, 4) == "RIFF" && text.size() >= 12 && text.substr(8, 4) == "WEBP")
    return AV_CODEC_ID_WEBP;
  fail(ErrorCode::bad_data,
       "{}: no known image format: expected PNG, JPEG, BMP, GIF, PPM, PGM, PBM, PAM, WebP or TIFF", name);
}

CodecContextPtr open_image_decoder(AVCodecID id, const std::string& name, const Limits& limits,
                                   FrameMemory& memory) {
  const AVCodec* codec = avcodec_find_decoder(id);
  check(codec != nullptr, ErrorCode::unsupported, "{}: FFmpeg {} has no decoder for {}", name,
        av_version_info(), avcodec_get_name(id));
  CodecContextPtr context(avcodec_alloc_context3(codec));
  if (!context) throw std::bad_alloc();
  context->thread_count = 1;
  context->max_pixels = static_cast<std::int64_t>(std::min<std::uint64_t>(limits.pixels, INT64_MAX));
  memory.serve(*context);
  const int status = avcodec_open2(context.get(), codec, nullptr);
  check(status >= 0, error_code(status), "{}: cannot open decoder {}: {}", name, codec->name,
        error_text(status));
  return context;
}

FramePtr decode_one(AVCodecContext& context, FrameMemory& memory, const AVPacket& packet,
                    const std::string& name, const Limits& limits) {
  FramePtr frame = make_frame();
  int status = avcodec_send_packet(&context, &packet);
  if (status >= 0) status = avcodec_send_packet(&context, nullptr);
  if (status >= 0) status = avcodec_receive_frame(&context, frame.get());
  if (memory.take_refusal())
    fail_limit("total_bytes", limits.total_bytes, "{}: decoding the {} image takes more", name,
               context.codec->name);
  if (status < 0 && says_too_many_pixels(error_text(status)))
    fail_limit("pixels", limits.pixels, "{}: the {} image has more pixels", name, context.codec->name);
  check(status >= 0, status == AVERROR_EOF ? ErrorCode::bad_data : error_code(status),
        "{}: cannot decode the {} image: {}", name, context.codec->name, error_text(status));
  check(!(frame->flags & AV_FRAME_FLAG_CORRUPT) && !frame->decode_error_flags, ErrorCode::bad_data,
        "{}: the {} image is damaged: {}", name, context.codec->name, error_text(AVERROR_INVALIDDATA));
  return frame;
}

std::string lower_extension(const std::string& path) {
  std::string text = std::filesystem::path(path).extension().string();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Of files' names and of encode_image: `.png`, `png`.
bool is_jpeg(std::string_view kind) {
  return kind.ends_with("jpg") || kind.ends_with("jpeg");
}

/// Gray stays gray, alpha and more than 8 bits are kept.
PixelFormat png_format(const PixelFormatInfo& facts) {
  constexpr PixelFormat formats[2][2][2] = {
      {{PixelFormat::rgb24, PixelFormat::rgb48}, {PixelFormat::rgba32, PixelFormat::rgba64}},
      {{PixelFormat::gray8, PixelFormat::gray16}, {PixelFormat::ya8, PixelFormat::ya16}}};
  return formats[facts.gray()][facts.has_alpha()][facts.bits > 8];
}

EncoderOptions image_options(bool jpeg, const Image& image) {
  EncoderOptions options;
  options.codec = jpeg ? "mjpeg" : "png";
  options.width = image.width;
  options.height = image.height;
  options.format = jpeg ? PixelFormat::yuv444p : png_format(format_info(image.format));
  if (jpeg) options.color = {ColorMatrix::bt601, ColorRange::full, ChromaSiting::center}; // JFIF 1.02.
  options.threads = 1;
  options.global_header = false;
  if (jpeg)
    options.codec_options = {{"flags", "+qscale"},
                             {"global_quality", "236"}}; // Quantiser 2, the finest but one.
  return options;
}

Packet encode_packet(const Image& image, bool jpeg, std::string_view name) {
  check(image.defined(), ErrorCode::invalid_argument, "{}: no image was given", name);
  const auto encoder = ffmpeg::create_encoder(image_options(jpeg, image));
  encoder->send(&image, 0);
  encoder->send(nullptr, no_pts);
  std::optional<Packet> packet = encoder->receive();
  check(packet.has_value(), ErrorCode::internal, "{}: the encoder gave no image", name);
  return *std::move(packet);
}

} // namespace

namespace {

/// Of what a codec may take of `bytes` for the picture itself: some make a second one of the same size, of
/// transparency or of what they unpack.
std::uint64_t bytes_for_picture(AVCodecID codec, std::uint64_t bytes, std::uint64_t beside) {
  const bool two = codec == AV_CODEC_ID_WEBP || codec == AV_CODEC_ID_TIFF || codec == AV_CODEC_ID_GIF;
  return beside >= bytes ? 0 : (bytes - beside) / (two ? 2 : 1);
}

std::uint64_t bytes_of(const AVFrame& frame) {
  std::uint64_t bytes = 0;
  for (const AVBufferRef* buffer : frame.buf)
    if (buffer) bytes += buffer->size;
  return bytes;
}

/// The first frame of an animated WebP, on its canvas; see Note [Animated WebP].
class FirstOfWebp {
public:
  FirstOfWebp(std::span<const std::byte> file, const WebpCanvas& canvas, const Limits& limits)
      : animation_(canvas, limits) {
    Packet packet;
    packet.bytes = first_webp_frame(file);
    packet.key = true;
    still_ = animation_.picture(packet, mark);
  }
  std::span<const std::byte> still() const { return still_; }
  FramePtr drawn(FramePtr picture, FrameMemory& memory, const Limits& limits) {
    try {
      check(animation_.draw(picture, mark, memory), ErrorCode::bad_data,
            "the first frame's picture has not the size that the frame has");
    } catch (const std::bad_alloc&) {
      if (!memory.take_refusal()) throw;
      fail_limit("total_bytes", limits.total_bytes, "decoding the animated WebP takes more");
    }
    return picture;
  }

private:
  static constexpr std::int64_t mark = 1;
  WebpAnimation animation_;
  std::vector<std::byte> still_;
};

/// The picture as the codec gives it, then in a format of ours, then upright: each counts while it is there.
Image decoded(std::span<const std::byte> bytes, const Limits& limits, const std::string& name) {
  const AVCodecID codec = image_codec(bytes, name);
  const PictureParts parts = needed_parts(codec, bytes, name, limits);
  FrameMemory memory(bytes_for_picture(codec, limits.total_bytes, parts.beside));
  clear_logged_error();
  const CodecContextPtr context = open_image_decoder(codec, name, limits, memory);
  const auto named = [&] { return name; };
  std::optional<FirstOfWebp> first;
  if (const auto canvas = animated_webp(bytes))
    with_context(named, [&] { first.emplace(bytes, *canvas, limits); });
  Packet packet;
  packet.bytes = first ? first->still() : parts.of(bytes);
  packet.key = true;
  check_deadline();
  FramePtr frame = decode_one(*context, memory, *to_av(packet), name, limits);
  if (first) frame = with_context(named, [&] { return first->drawn(std::move(frame), memory, limits); });
  check_deadline();
  const Orientation orientation = orientation_of(display_matrix(*frame));
  return with_context(named, [&] {
    const Charge charge(current_account(), bytes_of(*frame));
    Image image = to_image(std::move(frame), limits);
    if (codec == AV_CODEC_ID_MJPEG && image.color.matrix == ColorMatrix::unspecified)
      image.color.matrix = ColorMatrix::bt601;
    return oriented(image, orientation);
  });
}

} // namespace

Image load_image(const std::string& path, const Limits& limits) {
  const DeadlineScope deadline(limits);
  return ffmpeg::decode_image(read_all(open_path(path, limits), limits).bytes, limits, path);
}

Image decode_image(std::span<const std::byte> bytes, const Limits& limits, const std::string& name) {
  const DeadlineScope deadline(limits);
  const AccountPtr account = current_account() ? current_account() : std::make_shared<Account>(limits);
  const AccountScope scope(account);
  return decoded(bytes, limits, name);
}

void save_image(const std::string& path, const Image& image) {
  const std::string extension = lower_extension(path);
  check(is_jpeg(extension) || extension == ".png", ErrorCode::unsupported,
        "{}: cannot write '{}' images: expected .png, .jpg or .jpeg", path, extension);
  write_file(path, encode_packet(image, is_jpeg(extension), path).bytes);
}

std::vector<std::byte> encode_image(const Image& image, std::string_view kind) {
  check(kind == "png" || kind == "jpg" || kind == "jpeg", ErrorCode::invalid_argument,
        "encode image: kind '{}', expected png, jpg or jpeg", kind);
  const Packet packet = encode_packet(image, is_jpeg(kind), "encode image");
  return {packet.bytes.begin(), packet.bytes.end()};
}

} // namespace lanner::ffmpeg
