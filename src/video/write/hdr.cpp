#include <lanner/hdr.h>

#include <array>
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

/// Four points of 16 bits and two luminances of 32, in these units.
MasteringDisplay read_mastering(std::span<const std::byte> bytes,
                                std::array<std::array<double, 2> MasteringDisplay::*, 3> order,
                                double chromaticity, double max_luminance, double min_luminance) {
  BigEndian read(bytes);
  MasteringDisplay display;
  const auto point = [&](std::array<double, 2>& to) {
    for (double& axis : to) axis = read.half() / chromaticity;
  };
  for (const auto member : order) point(display.*member);
  point(display.white);
  display.max_luminance = read.next(4) / max_luminance;
  display.min_luminance = read.next(4) / min_luminance;
  return display;
}

/// H.265 D.3.28, whose primaries come as green, blue, red.
MasteringDisplay mastering_of_sei(std::span<const std::byte> bytes) {
  return read_mastering(bytes, {&MasteringDisplay::green, &MasteringDisplay::blue, &MasteringDisplay::red},
                        50000, 10000, 10000);
}

/// AV1 6.7.4: 0.16, 24.8 and 18.14 bits.
MasteringDisplay mastering_of_obu(std::span<const std::byte> bytes) {
  return read_mastering(bytes, {&MasteringDisplay::red, &MasteringDisplay::green, &MasteringDisplay::blue},
                        65536, 256, 16384);
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
      hdr.light->max = read.half();
      hdr.light->average = read.half();
    }
  }
  return hdr;
}

} // namespace lanner
