#include "output/wav_writer.h"

#include <cstring>
#include <string_view>
#include <utility>

#include <lanner/error.h>

#include "check.h"

namespace lanner::tool {

namespace {

constexpr std::uint64_t most_bytes = 0xFFFFFFFF;
/// Bytes of all that is not samples.
constexpr std::uint64_t header_bytes = 68;

void add_number(std::string& bytes, std::uint32_t value, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
}

/// SPEAKER_ bits of WAVEFORMATEXTENSIBLE::dwChannelMask; 0 leaves the places open.
std::uint32_t speakers_of(std::string_view layout) {
  constexpr std::pair<std::string_view, std::uint32_t> known[] = {
      {"mono", 0x4},  {"stereo", 0x3},      {"2.1", 0xB},   {"3.0", 0x7},
      {"quad", 0x33}, {"4.0", 0x107},       {"5.0", 0x37},  {"5.0(side)", 0x607},
      {"5.1", 0x3F},  {"5.1(side)", 0x60F}, {"6.1", 0x70F}, {"7.1", 0x63F},
  };
  for (const auto& [name, mask] : known)
    if (name == layout) return mask;
  return 0;
}

/// RIFF with WAVEFORMATEXTENSIBLE.
std::string header_of(const WavFormat& format, std::uint64_t data_bytes) {
  const auto sample = static_cast<std::uint32_t>(bit_width(format.dtype) / 8);
  const auto channels = static_cast<std::uint32_t>(format.channels);
  const auto bytes = static_cast<std::uint32_t>(data_bytes);
  std::string header = "RIFF";
  add_number(header, bytes + static_cast<std::uint32_t>(header_bytes) - 8, 4);
  header += "WAVEfmt ";
  add_number(header, 40, 4);
  add_number(header, 0xFFFE, 2);
  add_number(header, channels, 2);
  add_number(header, static_cast<std::uint32_t>(format.sample_rate), 4);
  add_number(header, static_cast<std::uint32_t>(format.sample_rate) * channels * sample, 4);
  add_number(header, channels * sample, 2);
  add_number(header, sample * 8, 2);
  add_number(header, 22, 2);
  add_number(header, sample * 8, 2);
  add_number(header, speakers_of(format.channel_layout), 4);
  add_number(header, format.dtype == DType::f32 ? 3 : 1, 2); // IEEE float, or PCM.
  header += std::string_view("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xAA\x00\x38\x9B\x71", 14);
  header += "data";
  add_number(header, bytes, 4);
  return header;
}

} // namespace

WavWriter::WavWriter(const std::string& path, const WavFormat& format, std::int64_t samples)
    : output_("-o", path), format_(format) {
  const auto row = static_cast<std::uint64_t>(format.channels) * (bit_width(format.dtype) / 8);
  const std::uint64_t bytes = static_cast<std::uint64_t>(samples) * row;
  check(bytes <= most_bytes - header_bytes, ErrorCode::invalid_argument,
        "-o {}: {} bytes of samples, a WAV file holds 4 GiB; give a lower --sample-rate or fewer "
        "--num-channels",
        path, bytes);
  output_.write(header_of(format, bytes));
}

void WavWriter::write(const Tensor& samples) {
  const std::size_t size = bit_width(format_.dtype) / 8;
  const auto channels = static_cast<std::size_t>(samples.shape()[0]);
  const auto count = static_cast<std::size_t>(samples.shape()[1]);
  const auto* from = static_cast<const char*>(samples.data());
  std::string mixed(channels * count * size, '\0');
  for (std::size_t channel = 0; channel < channels; ++channel)
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(mixed.data() + (i * channels + channel) * size, from + (channel * count + i) * size, size);
  output_.write(mixed);
}

} // namespace lanner::tool
