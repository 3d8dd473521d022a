#include "video/ffmpeg/stream_notes.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/log.h>

#include "image/code_points.h"
#include "video/bitstream/layers.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/pixel_format.h"
#include "video/ffmpeg/stream_info.h"

namespace lanner::ffmpeg {

namespace {

/// Alpha of AVIF and HEIC is a picture, or a stream, of its own, which names its purpose so (ISO/IEC
/// 23008-12, auxC).
bool has_auxiliary_alpha(ByteSource& source) {
  constexpr std::size_t brand_end = 12, looked_at = 64 << 10;
  constexpr std::string_view purposes[] = {"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
                                           "urn:mpeg:hevc:2015:auxid:1"};
  constexpr std::string_view brands[] = {"avif", "avis", "heic", "heix", "hevc", "hevx", "mif1", "msf1"};
  if (!source.seekable()) return false;
  std::vector<std::byte> bytes(brand_end);
  const auto head = [&] {
    const std::size_t count = source.read_at(0, bytes);
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), count);
  };
  const std::string_view begin = head();
  if (begin.size() < brand_end || begin.substr(4, 4) != "ftyp" ||
      std::ranges::find(brands, begin.substr(8)) == std::end(brands))
    return false;
  bytes.resize(looked_at);
  const std::string_view boxes = head();
  return std::ranges::any_of(
      purposes, [&](std::string_view purpose) { return boxes.find(purpose) != std::string_view::npos; });
}

} // namespace

std::string left_out_alpha(const StreamInfo& stream, ByteSource& source, const Packet& first_packet) {
  if (format_info(stream.format).has_alpha()) return {};
  const auto mode = stream.metadata.find("alpha_mode");
  if (mode != stream.metadata.end() && mode->second == "1") {
    const bool vpx = stream.codec == "vp8" || stream.codec == "vp9";
    const bool read = vpx && alpha_decoder(stream) != nullptr;
    return fmt::format(
        "beside its packets: {}",
        read  ? fmt::format("libvpx's decoder gives it with yuv420p, not with {}", stream.native_format)
        : vpx ? "this FFmpeg lacks libvpx's decoder, which alone gives it"
              : fmt::format("no decoder of {} gives it", stream.codec));
  }
  if (stream.codec == "hevc" && !decodes_alpha_layers && has_alpha_layer(stream, first_packet.bytes))
    return fmt::format("a layer of its own: FFmpeg {} decodes the base layer alone", av_version_info());
  if ((stream.codec == "av1" || stream.codec == "hevc") && has_auxiliary_alpha(source))
    return "a picture of its own, and FFmpeg's decoders give one picture at a time";
  return {};
}

ColorCodes color_codes(const AVCodecParameters& parameters, const StreamInfo& stream) {
  if (stream.codec == "h264" || stream.codec == "hevc") return ColorScanner(stream).codes();
  return {code_of(parameters.color_primaries), code_of(parameters.color_trc),
          code_of(parameters.color_space)};
}

std::string reserved_colors(const ColorCodes& codes) {
  std::vector<std::string> found;
  const auto note = [&](std::string_view what, int code, bool known) {
    if (!known) found.push_back(fmt::format("{} {}", what, code));
  };
  constexpr int last_matrix = 17, reserved_matrix = 3;
  note("primaries", codes.primaries,
       std::ranges::find(primaries_points, codes.primaries, &CodePoint::code) != std::end(primaries_points));
  note("transfer", codes.transfer,
       std::ranges::find(transfer_points, codes.transfer, &CodePoint::code) != std::end(transfer_points));
  note("matrix", codes.matrix,
       codes.matrix >= 0 && codes.matrix <= last_matrix && codes.matrix != reserved_matrix);
  if (found.empty()) return {};
  return fmt::format("{}: reserved in H.273, read as unspecified", fmt::join(found, ", "));
}

void note_once(const std::string& line) {
  constexpr std::size_t most = 1024;
  static std::mutex mutex;
  static std::set<std::string> said;
  {
    const std::lock_guard lock(mutex);
    if (said.size() >= most) said.clear();
    if (!said.insert(line).second) return;
  }
  log_message(LogLevel::warning, line);
}

} // namespace lanner::ffmpeg
