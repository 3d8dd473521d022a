#include "video/bitstream/elementary_stream.h"

#include <algorithm>

#include "fuzz/targets.h"
#include "video/bitstream/h264_headers.h"

namespace lanner::fuzz {

/// A byte for the codec, one for the size of the extradata, the extradata, then packets: a length byte and
/// contents.
void read_elementary_stream(std::span<const std::byte> input) {
  static constexpr const char* codecs[] = {"h264",  "hevc", "av1", "mpeg2video",
                                           "mpeg4", "vc1",  "vp9", "mjpeg"};
  std::size_t place = 0;
  const auto byte = [&] { return place < input.size() ? std::to_integer<std::size_t>(input[place++]) : 0; };
  const auto bytes = [&](std::size_t count) {
    const auto taken = input.subspan(place, std::min(count, input.size() - place));
    place += taken.size();
    return taken;
  };
  StreamInfo stream;
  const std::size_t kind = byte();
  stream.codec = codecs[kind % std::size(codecs)];
  stream.layers = kind >= 128 ? 2 : 1;
  const auto extradata = bytes(byte());
  stream.extradata.assign(extradata.begin(), extradata.end());
  if (stream.codec == "h264") static_cast<void>(uncommon_h264_feature(stream));
  ElementaryStream converter(stream);
  while (place < input.size()) {
    // Copied, so that a read past its end is detected.
    const auto content = bytes(byte());
    const std::vector<std::byte> copy(content.begin(), content.end());
    Packet packet;
    packet.bytes = copy;
    std::size_t sum = 0;
    for (const std::byte piece : converter.convert(packet)) sum += std::to_integer<std::size_t>(piece);
    if (sum % 16 == 0) converter.restart();
  }
}

} // namespace lanner::fuzz
