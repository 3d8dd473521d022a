// MPEG-4 part 2 as DivX and Xvid wrote it: two pictures in one packet, and fillers that are none.

#include <lanner/encoder.h>
#include <lanner/muxer.h>
#include <lanner/video_reader.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string_view>

#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

using PacketBytes = std::vector<std::byte>;

PacketBytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

PacketBytes joined(PacketBytes a, const PacketBytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Picture {
  PacketBytes bytes;
  std::uint32_t type = 0; ///< I, P, B.
};

std::size_t first_plane(const PacketBytes& bytes) {
  const PacketBytes code = bytes_of({"\0\0\1\xb6", 4});
  return static_cast<std::size_t>(std::search(bytes.begin(), bytes.end(), code.begin(), code.end()) -
                                  bytes.begin());
}

/// Pictures in decoding order; those that begin a group say that they are packed.
std::vector<Picture> encode(Encoder& encoder, int frames) {
  std::vector<Picture> pictures;
  const PacketBytes packed = bytes_of({"\0\0\1\xb2"
                                       "DivX503b1393p",
                                       17});
  const auto take = [&] {
    while (const auto packet = encoder.receive()) {
      Picture picture{{packet->bytes.begin(), packet->bytes.end()}, 0};
      const std::size_t place = first_plane(picture.bytes);
      ASSERT_LT(place + 4, picture.bytes.size());
      picture.type = std::to_integer<std::uint32_t>(picture.bytes[place + 4]) >> 6;
      if (picture.type == 0)
        picture.bytes.insert(picture.bytes.begin() + static_cast<std::ptrdiff_t>(place), packed.begin(),
                             packed.end());
      pictures.push_back(std::move(picture));
    }
  };
  for (int i = 0; i < frames; ++i) {
    const Image image = test::pattern(PixelFormat::yuv420p, 96, 64, i);
    while (!encoder.send(&image, i)) take();
    take();
  }
  encoder.send(nullptr);
  take();
  return pictures;
}

/// A VOP that is not coded, of the time of `picture` as far as `at_its_time`. Its rate of 30 a second makes
/// times 5 bits long.
PacketBytes filler_for(const Picture& picture, bool at_its_time) {
  std::size_t bit = 8 * (first_plane(picture.bytes) + 4) + 2;
  const auto next = [&] {
    const int byte = std::to_integer<int>(picture.bytes[bit / 8]);
    return byte >> (7 - bit++ % 8) & 1;
  };
  while (next() == 1) continue; // modulo_time_base
  int time = next();
  for (int i = 0; i < 5; ++i) time = time << 1 | next();
  const int bits = (at_its_time ? time : time ^ 4) << 7 | 0x4f; // Marker, not coded, stuffing.
  return joined(bytes_of({"\0\0\1\xb6", 4}),
                {static_cast<std::byte>(0x40 | bits >> 8), static_cast<std::byte>(bits)});
}

/// Packets with some B-pictures behind the picture before them. `faults`: how often in ten a filler is left
/// out, is longer than usual, or stands where nothing waits.
std::vector<PacketBytes> pack(const std::vector<Picture>& pictures, int faults, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto faulty = [&] { return static_cast<int>(random() % 10) < faults; };
  std::vector<PacketBytes> packets;
  for (std::size_t i = 0; i < pictures.size();) {
    std::size_t end = i + 1;
    while (end < pictures.size() && pictures[end].type == 2) ++end;
    if (end == i + 1 || faulty()) {
      packets.push_back(pictures[i].bytes);
      if (faults > 0 && random() % 16 == 0) packets.push_back(filler_for(pictures[i], true));
      ++i;
      continue;
    }
    PacketBytes filler = filler_for(pictures[i], !faulty());
    packets.push_back(joined(pictures[i].bytes, pictures[i + 1].bytes));
    for (i += 2; i < end; ++i) packets.push_back(pictures[i].bytes);
    if (faulty()) continue;
    packets.push_back(faulty() ? joined(filler, PacketBytes(6, std::byte{0x7f})) : filler);
  }
  return packets;
}

struct PackedCase {
  const char* name;
  const char* file;
  int faults;
  std::uint32_t seeds;
};

class PackedVideo : public ::testing::TestWithParam<PackedCase> {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }

  std::filesystem::path clip(std::uint32_t seed) {
    const auto path = folder_ / GetParam().file;
    EncoderOptions options;
    options.codec = "mpeg4";
    options.width = 96;
    options.height = 64;
    options.gop = 9;
    options.b_frames = 2;
    options.threads = 1;
    options.bit_rate = 400'000;
    const auto muxer = create_muxer(path.string());
    options.global_header = muxer->wants_global_header();
    const auto encoder = create_encoder(options);
    const int stream = muxer->add_stream(encoder->stream());
    std::int64_t time = 0;
    for (const PacketBytes& bytes : pack(encode(*encoder, 70), GetParam().faults, seed)) {
      Packet packet;
      packet.stream = stream;
      packet.bytes = bytes;
      packet.pts = packet.dts = time++;
      packet.duration = 1;
      packet.key = bytes.size() > 6 && (std::to_integer<int>(bytes[first_plane(bytes) + 4]) & 0xc0) == 0;
      muxer->write(packet);
    }
    muxer->finish();
    return path;
  }

  static VideoReaderOptions plain(int decoders, int threads) {
    VideoReaderOptions options;
    options.cache_index = false;
    options.decoders = decoders;
    options.decoder.threads = threads;
    options.decoder.device = Device{};
    return options;
  }

  using Seen = std::pair<std::uint32_t, std::int64_t>;
  static Seen seen(const Frame& frame) { return {test::frame_checksum(frame.image), frame.pts}; }

  TemporaryFolder folder_;
};

TEST_P(PackedVideo, FramesByNumberAreThoseInOrder) {
  for (std::uint32_t seed = 0; seed < GetParam().seeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto path = clip(seed);
    std::vector<Seen> expected;
    VideoReader linear(open_path(path), plain(1, 1));
    while (const auto frame = linear.next()) expected.push_back(seen(*frame));
    ASSERT_GT(expected.size(), 40u);
    std::vector<std::int64_t> order(expected.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(threads);
      VideoReader reader(open_path(path), plain(2, threads));
      ASSERT_EQ(reader.size(), static_cast<std::int64_t>(expected.size()));
      for (const std::int64_t i : order)
        ASSERT_EQ(seen(reader.at(i)), expected[static_cast<std::size_t>(i)]) << "frame " << i;
      const std::vector<Frame> frames = reader.at(order);
      for (std::size_t k = 0; k < order.size(); ++k)
        ASSERT_EQ(seen(frames[k]), expected[static_cast<std::size_t>(order[k])]) << "frame " << order[k];
      ParallelDecoder parallel(open_path(path), plain(2, threads));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto frame = parallel.next();
        ASSERT_TRUE(frame) << "frame " << i;
        ASSERT_EQ(seen(*frame), expected[i]) << "frame " << i << " side by side";
      }
      ASSERT_FALSE(parallel.next());
      EXPECT_TRUE(GetParam().faults > 0 || parallel.description().starts_with("2 x ")) << "in spans";
    }
  }
}

TEST_P(PackedVideo, IndexListsTheKeyframesThatAreShown) {
  const auto path = clip(0);
  VideoReader reader(open_path(path), plain(1, 1));
  std::vector<bool> shown;
  while (const auto frame = reader.next()) shown.push_back(frame->key);
  const auto index = reader.index();
  ASSERT_EQ(index->frames.size(), shown.size());
  for (std::size_t i = 0; i < shown.size() && GetParam().faults == 0; ++i)
    EXPECT_EQ(index->frames[i].key, shown[i]) << "frame " << i;
  const auto keys = std::ranges::count_if(index->frames, [](const IndexEntry& frame) { return frame.key; });
  EXPECT_LE(keys, std::ranges::count(shown, true));
}

constexpr PackedCase cases[] = {{"avi", "a.avi", 0, 1},
                                {"mkv", "a.mkv", 0, 1},
                                {"faulty_avi", "a.avi", 2, 3},
                                {"faulty_mkv", "a.mkv", 2, 3},
                                {"lost_avi", "a.avi", 7, 3}};
INSTANTIATE_TEST_SUITE_P(Video, PackedVideo, ::testing::ValuesIn(cases),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

} // namespace
} // namespace lanner
