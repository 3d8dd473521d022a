#include "video/clips.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace lanner::test {

Image pattern(PixelFormat format, std::int32_t width, std::int32_t height, int time) {
  Image rgb = Image::allocate(PixelFormat::rgb24, width, height);
  const int left = time * 3 % (width - width / 4), top = time * 2 % (height - height / 4);
  for (std::int32_t y = 0; y < height; ++y) {
    std::byte* row = rgb.planes[0].data + y * rgb.planes[0].pitch;
    for (std::int32_t x = 0; x < width; ++x) {
      const bool inside = x >= left && x < left + width / 4 && y >= top && y < top + height / 4;
      const int color[3] = {inside ? 230 : x * 200 / width, inside ? 40 : y * 200 / height,
                            inside ? 60 : (x + y + time) % 200};
      for (int c = 0; c < 3; ++c) row[3 * x + c] = static_cast<std::byte>(color[c]);
    }
  }
  if (format == PixelFormat::rgb24) return rgb;
  Image image = Image::allocate(format, width, height);
  convert_image(rgb, image);
  return image;
}

std::filesystem::path make_clip(const std::filesystem::path& path, int frames, EncoderOptions options) {
  if (options.width <= 0) options.width = 96;
  if (options.height <= 0) options.height = 64;
  if (options.gop == 0) options.gop = 8;
  const bool reorders = options.codec == "h264" || options.codec == "hevc" ||
                        options.codec.starts_with("mpeg") || options.codec == "libx264" ||
                        options.codec == "libx265";
  if (options.b_frames < 0 && reorders) options.b_frames = 2;
  options.threads = 1;
  VideoWriter writer(path.string(), options);
  for (int i = 0; i < frames; ++i)
    writer.write(pattern(PixelFormat::rgb24, options.width, options.height, i));
  writer.finish();
  return path;
}

namespace {

template<typename Visit>
void visit_rows(const Image& image, Visit visit) {
  const PixelFormatInfo& facts = format_info(image.format);
  for (int p = 0; p < facts.planes; ++p) {
    const Plane& plane = image.planes[p];
    const auto bytes = static_cast<std::size_t>(plane.width) * facts.samples[p] * facts.bytes_per_sample;
    for (std::int32_t y = 0; y < plane.height; ++y) visit(plane.data + y * plane.pitch, bytes);
  }
}

} // namespace

// ISO/IEC 14496-12, 8.3.2: behind the type of a track header of version 0 lie 40 bytes, then the matrix.
void turn_in_file(const std::filesystem::path& mp4) {
  std::string bytes = bytes_of(mp4);
  const std::size_t header = bytes.find("tkhd");
  ASSERT_NE(header, std::string::npos);
  constexpr std::size_t from_type = 4 + 40;
  constexpr std::int32_t one = 1 << 16, last = 1 << 30;
  const std::int32_t matrix[9] = {0, one, 0, -one, 0, 0, 0, 0, last};
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t byte = 0; byte < 4; ++byte)
      bytes[header + from_type + 4 * i + byte] =
          static_cast<char>(static_cast<std::uint32_t>(matrix[i]) >> (24 - 8 * byte));
  std::ofstream(mp4, std::ios::binary) << bytes;
}

std::uint32_t frame_checksum(const Image& image) {
  std::uint32_t a = 0, b = 0; // FFmpeg begins with 0 where RFC 1950 has 1.
  visit_rows(image, [&](const std::byte* data, std::size_t size) {
    while (size > 0) {
      const std::size_t part = std::min<std::size_t>(size, 5552); // Most bytes before b may overflow.
      for (std::size_t i = 0; i < part; ++i) b += a += std::to_integer<std::uint32_t>(data[i]);
      a %= 65521;
      b %= 65521;
      data += part;
      size -= part;
    }
  });
  return b << 16 | a;
}

void Md5::update(const Image& image) {
  visit_rows(image, [this](const std::byte* data, std::size_t size) { update(data, size); });
}

void Md5::update(const std::byte* data, std::size_t size) {
  while (size > 0) {
    const std::size_t filled = size_ % 64, part = std::min(size, 64 - filled);
    std::memcpy(rest_ + filled, data, part);
    size_ += part;
    data += part;
    size -= part;
    if (size_ % 64 == 0) block(rest_);
  }
}

void Md5::block(const std::uint8_t* bytes) {
  static constexpr int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  std::uint32_t words[16];
  std::memcpy(words, bytes, sizeof words);
  auto [a, b, c, d] = std::array{state_[0], state_[1], state_[2], state_[3]};
  for (int i = 0; i < 64; ++i) {
    const int round = i / 16;
    const std::uint32_t f = round == 0   ? (b & c) | (~b & d)
                            : round == 1 ? (b & d) | (c & ~d)
                            : round == 2 ? b ^ c ^ d
                                         : c ^ (b | ~d);
    const int word = (round == 0 ? i : round == 1 ? 5 * i + 1 : round == 2 ? 3 * i + 5 : 7 * i) % 16;
    const auto sine = static_cast<std::uint32_t>(std::floor(std::abs(std::sin(i + 1.0)) * 4294967296.0));
    const std::uint32_t next = b + std::rotl(a + f + sine + words[word], shifts[round][i % 4]);
    a = d, d = c, c = b, b = next;
  }
  state_[0] += a, state_[1] += b, state_[2] += c, state_[3] += d;
}

std::string Md5::hex() {
  const std::uint64_t bits = size_ * 8;
  const std::byte one{0x80}, zero{0};
  update(&one, 1);
  while (size_ % 64 != 56) update(&zero, 1);
  update(reinterpret_cast<const std::byte*>(&bits), 8);
  std::string text;
  for (const std::uint32_t word : state_)
    for (int i = 0; i < 4; ++i) text += fmt::format("{:02x}", word >> 8 * i & 255);
  return text;
}

std::optional<std::string> output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>/dev/null </dev/null").c_str(), "r");
  if (!pipe) return std::nullopt;
  std::string text;
  char part[4096];
  while (const std::size_t count = std::fread(part, 1, sizeof part, pipe)) text.append(part, count);
  return pclose(pipe) == 0 ? std::optional(text) : std::nullopt;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string quoted(const std::filesystem::path& path) {
  return "'" + path.string() + "'";
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double psnr(const Image& a, const Image& b) {
  double sum = 0;
  for (std::int32_t y = 0; y < a.height; ++y)
    for (std::int32_t x = 0; x < a.width * 3; ++x) {
      const auto at = [&](const Image& image) {
        return std::to_integer<int>(image.planes[0].data[y * image.planes[0].pitch + x]);
      };
      sum += (at(a) - at(b)) * (at(a) - at(b));
    }
  const double mean = sum / (static_cast<double>(a.width) * a.height * 3);
  return mean == 0 ? 100 : 10 * std::log10(255 * 255 / mean);
}

} // namespace lanner::test
