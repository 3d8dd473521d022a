#include "video/bitstream/bitstream.h"

#include <algorithm>

#include "fuzz/targets.h"
#include "video/bitstream/layers.h"
#include "video/bitstream/sei.h"

namespace lanner::fuzz {

/// A byte for the codec, one for the size of the extradata, the extradata, then packets: a length byte and
/// contents.
void read_bitstream(std::span<const std::byte> input) {
  static constexpr const char* codecs[] = {"h264", "hevc", "vp8", "vp9", "mpeg2video", "av1", "mpeg4"};
  std::size_t place = 0;
  const auto byte = [&] { return place < input.size() ? std::to_integer<std::size_t>(input[place++]) : 0; };
  const auto bytes = [&](std::size_t count) {
    const auto taken = input.subspan(place, std::min(count, input.size() - place));
    place += taken.size();
    return taken;
  };
  StreamInfo stream;
  stream.kind = "video";
  stream.codec = codecs[byte() % std::size(codecs)];
  const auto extradata = bytes(byte());
  stream.extradata.assign(extradata.begin(), extradata.end());
  PacketScanner scanner(stream);
  const SeiScanner sei(stream);
  while (place < input.size()) {
    // Copied, so that a read past its end is detected.
    const auto content = bytes(byte());
    const std::vector<std::byte> copy(content.begin(), content.end());
    Packet packet;
    packet.key = copy.size() % 2 != 0;
    packet.bytes = copy;
    scanner.scan(packet);
    sei.scan(copy);
    count_layers(stream, copy);
  }
}

} // namespace lanner::fuzz
