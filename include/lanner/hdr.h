#pragma once
// What a clip of high dynamic range says of its brightness: mastering display and content light.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <lanner/decoder.h>
#include <lanner/demuxer.h>

namespace lanner {

/// Colours and brightness of the display that a clip was graded on (SMPTE ST 2086), in the units of H.265
/// D.3.28.
struct MasteringDisplay {
  std::array<std::array<std::uint16_t, 2>, 3> primaries{}; ///< x and y of red, green, blue, in 1/50000.
  std::array<std::uint16_t, 2> white_point{};              ///< x and y, in 1/50000.
  std::uint32_t max_luminance = 0, min_luminance = 0;      ///< In 1/10000 cd/m2.
  friend bool operator==(const MasteringDisplay&, const MasteringDisplay&) = default;
};

/// Brightness of the content (CTA-861.3), in cd/m2; 0 where it is not known.
struct ContentLight {
  std::uint16_t max_content = 0; ///< MaxCLL: of the brightest pixel.
  std::uint16_t max_average = 0; ///< MaxFALL: of the brightest frame on average.
  friend bool operator==(const ContentLight&, const ContentLight&) = default;
};

struct HdrMetadata {
  std::optional<MasteringDisplay> mastering;
  std::optional<ContentLight> light;
  bool empty() const noexcept { return !mastering && !light; }
  friend bool operator==(const HdrMetadata&, const HdrMetadata&) = default;
};

/// What the SEI messages of a frame (DecoderOptions::sei) say: H.264 and HEVC payloads 137 and 144 (H.265
/// D.2.28, D.2.35), AV1 metadata 2 and 1 (AV1 5.8.3, 5.8.4). `codec` is StreamInfo::codec.
HdrMetadata hdr_metadata(std::span<const SeiMessage> messages, std::string_view codec);
/// What the container says of a stream.
HdrMetadata hdr_metadata(const Demuxer& demuxer, int stream);

} // namespace lanner
