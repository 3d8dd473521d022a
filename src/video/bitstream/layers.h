#pragma once
// Layers of a scalable stream.

#include <cstddef>
#include <span>

#include <lanner/packet.h>

namespace lanner {

/// StreamInfo::layers, from the extradata and the stream's first packet (empty where there is none). H.264:
/// the base layer and every other pair of dependency_id and quality_id in the NAL units of H.264 F.7.3.1.1
/// (7.3.1); AV1: the operating points of the sequence header (AV1 5.5). Bytes are not trusted.
int count_layers(const StreamInfo& stream, std::span<const std::byte> first_packet);

/// Whether a stream of HEVC tells, in its extradata or first packet, of alpha in a layer beside the base:
/// SEI alpha_channel_info (H.265 Annex F).
bool has_alpha_layer(const StreamInfo& stream, std::span<const std::byte> first_packet);

} // namespace lanner
