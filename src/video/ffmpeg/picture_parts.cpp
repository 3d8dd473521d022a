#include "video/ffmpeg/picture_parts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/limits/limit_error.h"

namespace lanner::ffmpeg {

namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using Bytes = std::span<const std::byte>;

constexpr std::string_view exif_mark = "Exif\0\0"sv;
constexpr std::uint16_t orientation_tag = 0x0112, sub_ifds_tag = 330, exif_ifd_tag = 34665;
constexpr std::size_t entry_bytes = 12;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Numbers at places that need not be in the file: 0 is read there.
class Numbers {
public:
  Numbers(Bytes bytes, bool little) : bytes_(bytes), little_(little) {}
  std::uint32_t one(std::size_t at) const { return number(at, 1); }
  std::uint32_t two(std::size_t at) const { return number(at, 2); }
  std::uint32_t four(std::size_t at) const { return number(at, 4); }
  bool holds(std::size_t at, std::size_t count) const {
    return at <= bytes_.size() && count <= bytes_.size() - at;
  }

private:
  std::uint32_t number(std::size_t at, std::size_t count) const {
    std::uint32_t value = 0;
    if (!holds(at, count)) return 0;
    for (std::size_t i = 0; i < count; ++i)
      value = value << 8 | std::to_integer<std::uint32_t>(bytes_[at + (little_ ? count - 1 - i : i)]);
    return value;
  }

  Bytes bytes_;
  bool little_;
};

/// The changed copy of a file, made at the first change.
class Copy {
public:
  Copy(Bytes file, std::vector<std::byte>& copy) : file_(file), copy_(copy) {}
  void put(std::size_t at, std::string_view text) {
    if (copy_.empty()) copy_.assign(file_.begin(), file_.end());
    if (at > copy_.size() || text.size() > copy_.size() - at) return;
    std::memcpy(copy_.data() + at, text.data(), text.size());
  }

private:
  Bytes file_;
  std::vector<std::byte>& copy_;
};

/// Of the first directory of a TIFF, as Exif is one (Exif 2.32, 4.6.4); 1 where it tells none.
std::uint32_t orientation_of_tags(Bytes tiff) {
  const Numbers numbers(tiff, text_of(tiff).starts_with("II"));
  const std::size_t first = numbers.four(4);
  for (std::size_t i = 0; i < numbers.two(first); ++i) {
    const std::size_t entry = first + 2 + i * entry_bytes;
    if (!numbers.holds(entry, entry_bytes)) break;
    if (numbers.two(entry) == orientation_tag) return std::clamp<std::uint32_t>(numbers.two(entry + 8), 1, 8);
  }
  return 1;
}

/// A directory with the orientation alone, over the one that begins at `at`. One that is shorter holds
/// nothing that unpacks.
void keep_orientation(Bytes file, std::size_t at, Copy& copy) {
  if (at > file.size()) return;
  std::string tags = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0_\0\0\0\0\0\0\0"s;
  tags[18] = static_cast<char>(orientation_of_tags(file.subspan(at)));
  copy.put(at, tags);
}

/// Chunks that unpack get the name of one that nobody knows (PNG 1.2, 3.2 and 4.2).
void hide_png_texts(Bytes file, Copy& copy) {
  constexpr std::size_t signature = 8, around = 12;
  constexpr std::array hidden = {"zTXt"sv, "iTXt"sv, "tEXt"sv, "iCCP"sv};
  const Numbers numbers(file, false);
  for (std::size_t at = signature; numbers.holds(at, around); at += around + numbers.four(at)) {
    const std::string_view kind = text_of(file.subspan(at + 4, 4));
    if (std::ranges::find(hidden, kind) != hidden.end()) copy.put(at + 4, "prVt");
    if (kind == "eXIf") keep_orientation(file, at + 8, copy);
  }
}

void hide_exif(Bytes file, Copy& copy) {
  const std::string_view text = text_of(file);
  for (std::size_t at = text.find(exif_mark); at != std::string_view::npos;
       at = text.find(exif_mark, at + exif_mark.size()))
    keep_orientation(file, at + exif_mark.size(), copy);
}

void hide_webp_exif(Bytes file, Copy& copy) {
  constexpr std::size_t header = 12, around = 8;
  const Numbers numbers(file, true);
  for (std::size_t at = header; numbers.holds(at, around);) {
    const std::size_t size = numbers.four(at + 4);
    if (text_of(file.subspan(at, 4)) == "EXIF") keep_orientation(file, at + around, copy);
    at += around + size + size % 2;
  }
}

struct Progressive {
  std::uint64_t pixels = 0, bytes = 0;
};

/// A progressive frame's pixels, and what its coefficients take until the last scan, two bytes each
/// (ITU-T T.81, B.2.2 and G.1).
Progressive progressive_frame(const Numbers& numbers, std::size_t header) {
  const std::uint64_t height = numbers.two(header + 3), width = numbers.two(header + 5);
  const std::uint64_t components = std::min<std::uint64_t>(numbers.one(header + 7), 4);
  constexpr std::uint64_t block = 16; // Sizes are rounded up to whole units of four blocks at most.
  return {width * height, 2 * components * (width + 2 * block) * (height + 2 * block)};
}

/// Where tables of the kind that `marker` defines end: after the last that is whole (B.2.4.1, B.2.4.2).
std::size_t end_of_tables(const Numbers& numbers, std::size_t body, unsigned char marker) {
  constexpr unsigned char huffman = 0xc4;
  const std::size_t end = body + numbers.two(body);
  std::size_t at = body + 2;
  for (std::size_t next = at; next <= end;) {
    at = next;
    if (marker == huffman) {
      constexpr std::size_t lengths = 16;
      next = at + 1 + lengths;
      for (std::size_t i = 1; i <= lengths; ++i) next += numbers.one(at + i);
    } else {
      next = at + 1 + (numbers.one(at) >> 4 != 0 ? 128 : 64);
    }
    if (!numbers.holds(at, next - at)) break;
  }
  return at;
}

/// The first byte behind a marker's segment that may begin another marker; entropy-coded data begins none.
std::size_t end_of_segment(const Numbers& numbers, std::size_t body, unsigned char marker) {
  const bool frame = marker == 0xc0 || marker == 0xc1 || marker == 0xc2 || marker == 0xc3 || marker == 0xf7;
  if (frame) return body + 8 + 3 * numbers.one(body + 7);
  if (marker == 0xda) return body + 6 + 2 * numbers.one(body + 2);
  if (marker == 0xdb || marker == 0xc4) return end_of_tables(numbers, body, marker);
  if (marker == 0xfe || (marker & 0xf0) == 0xe0) return body + std::max<std::size_t>(numbers.two(body), 2);
  return body;
}

void check_jpeg_scans(Bytes file, std::string_view name, const Limits& limits, PictureParts& parts) {
  constexpr std::uint64_t most_scans = 256; // of a picture of `limits.pixels`; encoders write about ten
  constexpr unsigned char progressive = 0xc2, scan = 0xda, first_marker = 0xc0;
  const std::string_view text = text_of(file);
  const Numbers numbers(file, false);
  std::uint64_t scans = 0, pixels = 0;
  for (std::size_t at = text.find('\xff'); at < text.size(); at = text.find('\xff', at)) {
    const auto marker = static_cast<unsigned char>(numbers.one(at + 1));
    if (marker < first_marker || marker == 0xff) {
      ++at;
      continue;
    }
    if (marker == scan) ++scans;
    if (marker == progressive) {
      const Progressive frame = progressive_frame(numbers, at + 2);
      pixels = std::max(pixels, frame.pixels);
      parts.beside = std::max(parts.beside, frame.bytes);
    }
    at = end_of_segment(numbers, at + 2, marker);
  }
  if (pixels > 0)
    check_limit("pixels", scans * pixels / most_scans, limits.pixels,
                "{}: {} scans of {} pixels are as much work as {} scans of the most pixels", name, scans,
                pixels, most_scans);
}

/// Codecs read each tag's values anew, so that a thousand tags may name the same ones (TIFF 6.0, 2).
void check_tiff_tags(Bytes file, std::string_view name) {
  constexpr std::array<std::uint64_t, 14> sizes = {1, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4};
  constexpr std::size_t most_directories = 16;
  const Numbers numbers(file, text_of(file).starts_with("II"));
  std::vector<std::size_t> directories{numbers.four(4)};
  std::uint64_t held = 0;
  for (std::size_t d = 0; d < directories.size(); ++d) {
    const std::size_t first = directories[d];
    for (std::size_t i = 0; i < numbers.two(first); ++i) {
      const std::size_t entry = first + 2 + i * entry_bytes;
      if (!numbers.holds(entry, entry_bytes)) break;
      const std::uint32_t tag = numbers.two(entry), type = numbers.two(entry + 2);
      held += numbers.four(entry + 4) * (type < sizes.size() ? sizes[type] : 1);
      if ((tag == sub_ifds_tag || tag == exif_ifd_tag) && directories.size() < most_directories)
        directories.push_back(numbers.four(entry + 8));
    }
  }
  check(held <= 2 * static_cast<std::uint64_t>(file.size()) + (1 << 16), ErrorCode::bad_data,
        "{}: its tags hold {} bytes, more than the file, which has {}", name, held, file.size());
}

} // namespace

bool has_parts(AVCodecID codec) noexcept {
  return codec == AV_CODEC_ID_PNG || codec == AV_CODEC_ID_APNG || codec == AV_CODEC_ID_MJPEG ||
         codec == AV_CODEC_ID_WEBP || codec == AV_CODEC_ID_TIFF;
}

PictureParts needed_parts(AVCodecID codec, Bytes file, std::string_view name, const Limits& limits) {
  PictureParts parts;
  Copy copy(file, parts.changed);
  switch (codec) {
  case AV_CODEC_ID_PNG:
  case AV_CODEC_ID_APNG:
    hide_png_texts(file, copy);
    break;
  case AV_CODEC_ID_MJPEG:
    hide_exif(file, copy);
    check_jpeg_scans(file, name, limits, parts);
    break;
  case AV_CODEC_ID_WEBP:
    hide_exif(file, copy);
    hide_webp_exif(file, copy);
    break;
  case AV_CODEC_ID_TIFF:
    check_tiff_tags(file, name);
    break;
  default:
    break;
  }
  return parts;
}

} // namespace lanner::ffmpeg
