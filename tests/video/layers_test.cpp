// Layers of scalable streams, by headers written here by hand.

#include "video/bitstream/layers.h"

#include <string>

#include <gtest/gtest.h>
#include <lanner/video_reader.h>

#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

using namespace std::string_literals;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

StreamInfo stream_of(const std::string& codec, const std::string& extradata = "") {
  StreamInfo stream;
  stream.kind = "video";
  stream.codec = codec;
  stream.extradata.assign(as_bytes(extradata).begin(), as_bytes(extradata).end());
  return stream;
}

const std::string code = "\0\0\1"s;
/// A coded slice extension of dependency_id 1 and quality_id 0, one of 1 and 1, and their prefix unit.
const std::string prefix = code + "\x6e\xc0\x80\x07"s, spatial = code + "\x74\xc0\x10\x07\x88"s,
                  quality = code + "\x74\xc0\x11\x07\x88"s;

TEST(Layers, OfScalableH264) {
  const std::string base = code + "\x65\x88\x84"s;
  EXPECT_EQ(count_layers(stream_of("h264"), as_bytes(base)), 1);
  EXPECT_EQ(count_layers(stream_of("h264"), as_bytes(prefix + base)), 1);
  EXPECT_EQ(count_layers(stream_of("h264"), as_bytes(prefix + base + spatial)), 2);
  EXPECT_EQ(count_layers(stream_of("h264"), as_bytes(prefix + base + spatial + spatial + quality)), 3);
  // svc_extension_flag is 0: another view, not another layer.
  EXPECT_EQ(count_layers(stream_of("h264"), as_bytes(base + code + "\x74\x40\x10\x07\x88"s)), 1);
  EXPECT_EQ(count_layers(stream_of("h264"), as_bytes(base + code + "\x74\xc0"s)), 1);
}

TEST(Layers, OperatingPointsOfAv1) {
  // seq_profile 0, no reduced header, no timing information, no display delay, count - 1 in five bits.
  const auto header = [](int points) {
    const int bits = (points - 1) << 4; // Bits 7 to 11 of the first two bytes.
    return "\x12\0\x0a\x04"s + static_cast<char>(bits >> 8) + static_cast<char>(bits) + "\0\0"s;
  };
  EXPECT_EQ(count_layers(stream_of("av1"), as_bytes(header(1))), 1);
  EXPECT_EQ(count_layers(stream_of("av1"), as_bytes(header(3))), 3);
  EXPECT_EQ(count_layers(stream_of("av1"), as_bytes(header(17))), 17);
  EXPECT_EQ(count_layers(stream_of("av1", "\x81\x04\x0c\0"s + header(2).substr(2)), {}), 2);
  EXPECT_EQ(count_layers(stream_of("av1", header(2).substr(2)), {}), 2);
  // A reduced header has one; with timing information and a decoder model the number stands later.
  EXPECT_EQ(count_layers(stream_of("av1"), as_bytes("\x0a\x03\x18\xff\xff"s)), 1);
  std::string bits = "000001";
  bits.append(63, '0').append("1100100"); // Ticks, equal intervals, uvlc of 3.
  bits.append("1").append(48, '0').append("00011");
  bits.append((8 - bits.size() % 8) % 8, '0');
  std::string timed = "\x0a"s + static_cast<char>(bits.size() / 8);
  for (std::size_t i = 0; i < bits.size(); i += 8)
    timed += static_cast<char>(std::stoi(bits.substr(i, 8), nullptr, 2));
  EXPECT_EQ(count_layers(stream_of("av1"), as_bytes(timed)), 4);
  EXPECT_EQ(count_layers(stream_of("av1"), as_bytes("\x0a\x01\x04"s)), 1) << "cut off";
}

TEST(Layers, OtherCodecsHaveOne) {
  EXPECT_EQ(count_layers(stream_of("vp9"), as_bytes(prefix + spatial)), 1);
}

TEST(Layers, TheBaseLayerIsDecoded) {
  LANNER_NEEDS_FFMPEG();
  const TemporaryFolder folder;
  const auto path = test::make_clip(folder / "a.264", 10);
  const std::string plain = test::bytes_of(path);
  // Behind the first picture, in front of the second one's slice.
  const auto second = plain.find("\0\0\1\x41"s, plain.find("\0\0\1\x65"s));
  ASSERT_NE(second, std::string::npos);
  const std::string scalable = plain.substr(0, second) + spatial + quality + plain.substr(second);
  VideoReader base(open_bytes(as_bytes(plain))), reader(open_bytes(as_bytes(scalable)));
  EXPECT_EQ(base.stream().layers, 1);
  EXPECT_EQ(reader.stream().layers, 3);
  int count = 0;
  while (const auto frame = reader.next()) {
    ++count;
    EXPECT_EQ(test::frame_checksum(frame->image), test::frame_checksum(base.next()->image));
  }
  EXPECT_EQ(count, 10);
}

} // namespace
} // namespace lanner
