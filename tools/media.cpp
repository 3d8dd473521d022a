#include "media.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <lanner/error.h>

#include "check.h"
#include "limit_option.h"

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
    {0, "BM"sv, FileKind::image},
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
    {0, "G"sv, FileKind::clip},
};

/// PBM to PAM: `P`, a digit, white space.
bool is_netpbm(std::string_view head) {
  return head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '7' &&
         (head[2] == '\n' || head[2] == ' ' || head[2] == '\r');
}

/// A safetensors file: eight bytes of header length, which is below 4 GiB, then a JSON object.
bool is_plan(std::string_view head) {
  return head.size() > 8 && head.substr(4, 4) == "\0\0\0\0"sv && head[8] == '{';
}

FileKind kind_by(std::string_view head) {
  if (is_plan(head)) return FileKind::plan;
  if (is_netpbm(head)) return FileKind::image;
  for (const Signature& signature : signatures)
    if (head.size() > signature.offset && head.substr(signature.offset).starts_with(signature.bytes))
      return signature.kind;
  return FileKind::other;
}

/// A stream whose first bytes were read already, from its beginning.
SourcePtr begun_again(const SourcePtr& rest, std::vector<std::byte> head) {
  auto read = [rest, head = std::move(head)](std::uint64_t offset, std::span<std::byte> into) -> std::size_t {
    if (offset >= head.size()) return rest->read_at(offset, into);
    const std::size_t count = std::min<std::size_t>(into.size(), head.size() - offset);
    std::memcpy(into.data(), head.data() + offset, count);
    return count;
  };
  return open_callback(std::move(read), -1, false, rest->name());
}

} // namespace

Media open_media(const std::string& path) {
  SourcePtr source = open_path(path, given_limits());
  std::array<std::byte, 32> first{};
  const std::size_t count = source->read_at(0, first);
  const FileKind kind = kind_by(std::string_view(reinterpret_cast<const char*>(first.data()), count));
  if (!source->seekable()) source = begun_again(source, {first.begin(), first.begin() + count});
  return {kind, std::move(source)};
}

FileKind kind_of(const std::string& path) {
  std::error_code ignored;
  check(!std::filesystem::is_fifo(path, ignored), ErrorCode::unsupported,
        "{}: is a pipe, which can be read but once; write what comes out of it to a file first", path);
  return open_media(path).kind;
}

} // namespace lanner::tool
