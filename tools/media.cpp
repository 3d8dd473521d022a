#include "media.h"

#include <array>
#include <string_view>

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

} // namespace

FileKind kind_of(const std::string& path) {
  const SourcePtr source = open_path(path);
  std::array<std::byte, 32> first{};
  const std::string_view head(reinterpret_cast<const char*>(first.data()), source->read_at(0, first));
  if (is_plan(head)) return FileKind::plan;
  if (is_netpbm(head)) return FileKind::image;
  for (const Signature& signature : signatures)
    if (head.size() > signature.offset && head.substr(signature.offset).starts_with(signature.bytes))
      return signature.kind;
  return FileKind::other;
}

} // namespace lanner::tool
