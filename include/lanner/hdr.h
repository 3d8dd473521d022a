#pragma once
// Static HDR metadata of a clip: mastering display and content light level.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <lanner/decoder.h>
#include <lanner/demuxer.h>

namespace lanner {

/// Colours and luminance of the display that a clip was graded on (SMPTE ST 2086): CIE 1931 coordinates,
/// candela per square metre.
struct MasteringDisplay {
  std::array<double, 2> red{}, green{}, blue{}, white{};
  double max_luminance = 0, min_luminance = 0;
  friend bool operator==(const MasteringDisplay&, const MasteringDisplay&) = default;
};

/// MaxCLL and MaxFALL (CTA-861.3), candela per square metre; 0 if not known.
struct ContentLight {
  std::uint16_t max = 0, average = 0;
  friend bool operator==(const ContentLight&, const ContentLight&) = default;
};

struct HdrMetadata {
  std::optional<MasteringDisplay> mastering;
  std::optional<ContentLight> light;
  bool empty() const noexcept { return !mastering && !light; }
  friend bool operator==(const HdrMetadata&, const HdrMetadata&) = default;
};

/// HDR metadata in the SEI messages of a frame (DecoderOptions::sei): H.264 and HEVC payloads 137 and 144
/// (H.265 D.2.28, D.2.35), AV1 metadata 2 and 1 (AV1 5.8.4, 5.8.3). `codec` is StreamInfo::codec.
HdrMetadata hdr_metadata(std::span<const SeiMessage> messages, std::string_view codec);
/// HDR metadata of a stream according to its container.
HdrMetadata hdr_metadata(const Demuxer& demuxer, int stream);

} // namespace lanner
