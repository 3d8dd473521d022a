#include "fake_libraries/nvdec_clip.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

namespace lanner::test {
namespace {

PixelFormat planar(int chroma, int depth) {
  const bool full = chroma == 3;
  if (depth == 8) return full ? PixelFormat::yuv444p : PixelFormat::yuv420p;
  if (depth == 10) return full ? PixelFormat::yuv444p10 : PixelFormat::yuv420p10;
  return full ? PixelFormat::yuv444p12 : PixelFormat::yuv420p12;
}

} // namespace

StreamInfo stream_of(const fake::Picture& picture, const std::string& codec) {
  StreamInfo stream;
  stream.kind = "video";
  stream.codec = codec;
  stream.width = picture.width;
  stream.height = picture.height;
  stream.format = planar(picture.chroma, picture.depth);
  stream.bit_depth = picture.depth;
  stream.time_base = {1, 25};
  stream.interlaced = picture.interlaced;
  return stream;
}

Packet packet_of(const fake::Picture& picture, std::int64_t ordinal) {
  auto bytes = std::make_shared<std::vector<std::byte>>(picture.bytes());
  Packet packet;
  packet.pts = ordinal;
  packet.duration = 1;
  packet.key = picture.key;
  packet.bytes = *bytes;
  packet.owner = bytes;
  return packet;
}

std::vector<fake::Picture> sequence(int count, const fake::Picture& like) {
  std::vector<fake::Picture> pictures;
  for (int i = 0; i < count; ++i) {
    fake::Picture picture = like;
    picture.key = i == 0;
    picture.seed = static_cast<std::uint8_t>(like.seed + i);
    picture.order = static_cast<std::uint8_t>(i);
    pictures.push_back(picture);
  }
  if (like.held > 0)
    for (std::size_t i = 1; i + 1 < pictures.size(); i += 2) std::swap(pictures[i], pictures[i + 1]);
  return pictures;
}

std::vector<Frame> decode(Decoder& decoder, const std::vector<fake::Picture>& pictures, bool end,
                          std::int64_t first) {
  std::vector<Frame> frames;
  const auto take = [&] {
    while (auto frame = decoder.receive()) frames.push_back(std::move(*frame));
  };
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const Packet packet = packet_of(pictures[i], first + static_cast<std::int64_t>(i));
    while (!decoder.send(&packet)) take();
    take();
  }
  if (!end) return frames;
  while (!decoder.send(nullptr)) take();
  take();
  EXPECT_TRUE(decoder.finished());
  return frames;
}

void expect_picture(const Frame& frame, const fake::Picture& picture) {
  ASSERT_EQ(frame.image.width, picture.width);
  ASSERT_EQ(frame.image.height, picture.height);
  Image host = Image::allocate(frame.image.format, frame.image.width, frame.image.height);
  copy_image(frame.image, host);
  const PixelFormatInfo& facts = format_info(host.format);
  const bool reordered = host.format == PixelFormat::rgb_planar;
  for (int p = 0; p < facts.planes; ++p) {
    const unsigned plane = reordered ? static_cast<unsigned>(p + 2) % 3 : static_cast<unsigned>(p);
    const bool chroma = p > 0 && facts.yuv;
    const unsigned interleaved = facts.samples[static_cast<std::size_t>(p)];
    const unsigned left = (picture.crop >> (chroma ? facts.chroma_x : 0)) * interleaved,
                   top = static_cast<unsigned>(picture.crop >> (chroma ? facts.chroma_y : 0));
    const Plane& rows = host.planes[static_cast<std::size_t>(p)];
    for (std::int32_t y = 0; y < rows.height; ++y)
      for (unsigned x = 0; x < static_cast<unsigned>(rows.width) * interleaved; ++x) {
        const unsigned want =
            fake::sample(picture.seed, plane, x + left, static_cast<unsigned>(y) + top, picture.depth);
        const std::byte* at = rows.data + y * rows.pitch + x * facts.bytes_per_sample;
        std::uint16_t got = 0;
        std::memcpy(&got, at, facts.bytes_per_sample);
        ASSERT_EQ(got >> facts.shift, static_cast<int>(want))
            << facts.name << " plane " << p << " at " << x << ", " << y;
      }
  }
}

std::unique_ptr<Decoder> fake_decoder(const fake::Picture& picture, DecoderOptions options,
                                      const std::string& codec) {
  options.device = gpu_device;
  return create_decoder(stream_of(picture, codec), options);
}

} // namespace lanner::test
