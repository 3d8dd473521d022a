#include <lanner/hdr.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lanner {

namespace {

class BigEndian {
public:
  explicit BigEndian(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint32_t next(int count) {
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes_[at_++]);
    return value;
  }
  std::uint16_t half() { return static_cast<std::uint16_t>(next(2)); }

private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

constexpr std::size_t mastering_bytes = 24, light_bytes = 4;

std::uint32_t scaled(std::uint32_t value, double by, double most) {
  return static_cast<std::uint32_t>(std::clamp(std::round(value * by), 0.0, most));
}

/// H.265 D.2.28, whose primaries come as green, blue, red.
MasteringDisplay mastering_of_sei(std::span<const std::byte> bytes) {
  BigEndian read(bytes);
  MasteringDisplay display;
  for (const std::size_t color : {1, 2, 0})
    for (std::uint16_t& axis : display.primaries[color]) axis = read.half();
  for (std::uint16_t& axis : display.white_point) axis = read.half();
  display.max_luminance = read.next(4);
  display.min_luminance = read.next(4);
  return display;
}

/// AV1 6.7.4: 0.16, 24.8 and 18.14 bits.
MasteringDisplay mastering_of_obu(std::span<const std::byte> bytes) {
  BigEndian read(bytes);
  MasteringDisplay display;
  const auto chromaticity = [&] {
    return static_cast<std::uint16_t>(scaled(read.next(2), 50000.0 / 65536, 65535));
  };
  for (auto& color : display.primaries)
    for (std::uint16_t& axis : color) axis = chromaticity();
  for (std::uint16_t& axis : display.white_point) axis = chromaticity();
  display.max_luminance = scaled(read.next(4), 10000.0 / 256, 4294967295.0);
  display.min_luminance = scaled(read.next(4), 10000.0 / 16384, 4294967295.0);
  return display;
}

} // namespace

HdrMetadata hdr_metadata(std::span<const SeiMessage> messages, std::string_view codec) {
  HdrMetadata hdr;
  const bool av1 = codec == "av1";
  const int mastering = av1 ? 2 : 137, light = av1 ? 1 : 144;
  for (const SeiMessage& message : messages) {
    if (message.type == mastering && message.bytes.size() >= mastering_bytes)
      hdr.mastering = av1 ? mastering_of_obu(message.bytes) : mastering_of_sei(message.bytes);
    if (message.type == light && message.bytes.size() >= light_bytes) {
      BigEndian read(message.bytes);
      hdr.light.emplace();
      hdr.light->max_content = read.half();
      hdr.light->max_average = read.half();
    }
  }
  return hdr;
}

} // namespace lanner
