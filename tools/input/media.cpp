#include "input/media.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <lanner/error.h>

#include "check.h"
#include "input/animated.h"
#include "options/limit_option.h"

namespace lanner::tool {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  FileKind kind;
};

constexpr Signature signatures[] = {
    {0, "\x89PNG\r\n\x1a\n"sv, FileKind::image},
    {0, "\xff\xd8\xff"sv, FileKind::image},
    {0, "GIF8"sv, FileKind::image},
    {0, "II*\0"sv, FileKind::image},
    {0, "MM\0*"sv, FileKind::image},
    {8, "WEBP"sv, FileKind::image},
    {4, "ftyp"sv, FileKind::clip},
    {4, "moov"sv, FileKind::clip},
    {0, "\x1a\x45\xdf\xa3"sv, FileKind::clip},
    {8, "AVI "sv, FileKind::clip},
    {0, "\0\0\1\xba"sv, FileKind::clip},
    {0, "\0\0\1\xb3"sv, FileKind::clip},
    {0, "\0\0\0\1"sv, FileKind::clip},
    {0, "\0\0\1"sv, FileKind::clip},
    {0, "FLV"sv, FileKind::clip},
    {0, "OggS"sv, FileKind::clip},
    {0, "DKIF"sv, FileKind::clip},
    {0, "YUV4MPEG2"sv, FileKind::clip},
};

/// PBM to PAM: `P`, a digit, white space.
bool is_netpbm(std::string_view head) {
  return head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '7' &&
         (head[2] == '\n' || head[2] == ' ' || head[2] == '\r');
}

/// BMP: after the file header comes the length of the next header, one of these.
bool is_bmp(std::string_view head) {
  constexpr std::string_view lengths = "\x0c\x10\x28\x34\x38\x40\x6c\x7c"sv;
  return head.size() > 17 && head.starts_with("BM") && lengths.find(head[14]) != std::string_view::npos &&
         head.substr(15, 3) == "\0\0\0"sv;
}

/// MPEG-TS: packets of 188 bytes, or of 192 with a time in front, each with a sync byte G.
bool is_transport_stream(std::string_view head) {
  for (const auto& [first, length] : {std::pair<std::size_t, std::size_t>{0, 188}, {4, 192}}) {
    bool all = head.size() > first + length;
    for (std::size_t at = first; at < head.size(); at += length) all = all && head[at] == 'G';
    if (all) return true;
  }
  return false;
}

/// Boxes that MP4 and MOV files may begin with.
bool is_mp4(std::string_view head) {
  constexpr std::string_view boxes[] = {"ftyp", "moov", "mdat", "wide", "free", "skip"};
  return head.size() > 8 && std::ranges::find(boxes, head.substr(4, 4)) != std::end(boxes);
}

/// A safetensors file: eight bytes of header length, which is below 4 GiB, then a JSON object.
bool is_plan(std::string_view head) {
  return head.size() > 8 && head.substr(4, 4) == "\0\0\0\0"sv && head[8] == '{';
}

FileKind kind_by(std::string_view head) {
  if (is_plan(head)) return FileKind::plan;
  if (is_netpbm(head) || is_bmp(head)) return FileKind::image;
  for (const Signature& signature : signatures)
    if (head.size() > signature.offset && head.substr(signature.offset).starts_with(signature.bytes))
      return signature.kind;
  return is_transport_stream(head) ? FileKind::clip : FileKind::other;
}

} // namespace

Media open_media(const std::string& path) {
  return media_of(open_path(path, given_limits()));
}

Media media_of(SourcePtr source) {
  std::array<std::byte, 400> first{};
  std::size_t count = 0;
  while (count < first.size()) {
    const std::size_t more = source->read_at(count, std::span(first).subspan(count));
    if (more == 0) break;
    count += more;
  }
  const std::string_view head(reinterpret_cast<const char*>(first.data()), count);
  FileKind kind = kind_by(head);
  if (kind == FileKind::image && is_animated(*source)) kind = FileKind::clip;
  return {kind, std::move(source), is_mp4(head)};
}

bool looks_like_media(const Media& media) {
  constexpr std::string_view known[] = {".wmv", ".asf", ".rm",  ".rmvb", ".mxf",  ".gxf",
                                        ".nut", ".dv",  ".vob", ".amv",  ".h261", ".h263"};
  if (media.kind != FileKind::other) return media.kind != FileKind::plan;
  std::string ending = std::filesystem::path(media.source->name()).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(known, ending) != std::end(known);
}

FileKind kind_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  check(!std::filesystem::is_fifo(path, ignored), ErrorCode::unsupported,
        "{}: is a pipe, which can be read only once; write its content to a file first", path);
  return open_media(path).kind;
}

} // namespace lanner::tool
