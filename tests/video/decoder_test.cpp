// The decoder by FFmpeg: latency, SEI, resets, changes inside a stream, damage.

#include <lanner/decoder.h>
#include <lanner/demuxer.h>

#include <algorithm>
#include <bitset>
#include <climits>
#include <map>
#include <set>

#include "expect_error.h"
#include "source_dir.h"
#include "temporary_folder.h"
#include "video/bitstream/layers.h"
#include "video/bitstream/obu.h"
#include "video/clips.h"

namespace lanner {
namespace {

struct Stream {
  StreamInfo info;
  std::vector<Packet> packets;
};

Stream read_stream(const std::filesystem::path& path) {
  const auto demuxer = open_demuxer(open_path(path));
  Stream stream{demuxer->streams().at(static_cast<std::size_t>(demuxer->best_video())), {}};
  while (auto packet = demuxer->next())
    if (packet->stream == stream.info.index) stream.packets.push_back(std::move(*packet));
  return stream;
}

void take_frames(Decoder& decoder, std::vector<Frame>& frames) {
  while (auto frame = decoder.receive()) frames.push_back(std::move(*frame));
}

std::vector<Frame> decode(Decoder& decoder, const std::vector<Packet>& packets) {
  std::vector<Frame> frames;
  for (const Packet& packet : packets) {
    while (!decoder.send(&packet)) take_frames(decoder, frames);
    take_frames(decoder, frames);
  }
  decoder.send(nullptr);
  take_frames(decoder, frames);
  return frames;
}

std::vector<Frame> decode(const Stream& stream, const DecoderOptions& options = {}) {
  return decode(*create_decoder(stream.info, options), stream.packets);
}

std::vector<std::uint32_t> sums_of(const std::vector<Frame>& frames) {
  std::vector<std::uint32_t> sums;
  for (const Frame& frame : frames) sums.push_back(test::frame_checksum(frame.image));
  return sums;
}

class FfmpegDecoder : public ::testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }

  /// Nothing where this FFmpeg has no such encoder.
  std::optional<Stream> clip(const std::string& codec, const std::string& extension, int b_frames,
                             std::map<std::string, std::string> settings = {}, int frames = 24) {
    EncoderOptions options;
    options.codec = codec;
    options.b_frames = b_frames;
    options.codec_options = std::move(settings);
    try {
      return read_stream(test::make_clip(folder_ / ("clip." + extension), frames, options));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return std::nullopt;
    }
  }
  TemporaryFolder folder_;
};

DecoderOptions with_threads(int threads, Latency latency = Latency::normal) {
  DecoderOptions options;
  options.threads = threads;
  options.latency = latency;
  return options;
}

TEST_F(FfmpegDecoder, LowLatencyGivesEachFrameAtOnce) {
  const std::pair<const char*, const char*> kinds[] = {{"h264", "mp4"}, {"h264", "264"},  {"h264", "ts"},
                                                       {"hevc", "mp4"}, {"vp8", "webm"},  {"vp9", "webm"},
                                                       {"av1", "mp4"},  {"mpeg4", "mp4"}, {"mjpeg", "avi"}};
  int tried = 0;
  for (const auto& [codec, extension] : kinds) {
    SCOPED_TRACE(fmt::format("{} {}", codec, extension));
    std::map<std::string, std::string> settings;
    if (std::string(codec) == "vp8") settings = {{"auto-alt-ref", "0"}, {"lag-in-frames", "0"}};
    const auto stream = clip(codec, extension, 0, settings);
    if (!stream) continue;
    ++tried;
    const auto decoder = create_decoder(stream->info, with_threads(4, Latency::low));
    std::vector<Frame> frames;
    for (const Packet& packet : stream->packets) {
      ASSERT_TRUE(decoder->send(&packet));
      take_frames(*decoder, frames);
      ASSERT_EQ(frames.size(), static_cast<std::size_t>(&packet - stream->packets.data()) + 1);
      ASSERT_EQ(frames.back().pts, packet.pts);
    }
    EXPECT_EQ(sums_of(frames), sums_of(decode(*stream, with_threads(1))));
  }
  EXPECT_GT(tried, 2);
}

TEST_F(FfmpegDecoder, LowLatencyKeepsTheOrderWhereTheStreamReorders) {
  for (const char* codec : {"h264", "hevc", "mpeg2", "mpeg4"}) {
    const auto stream = clip(codec, "mkv", 2);
    if (!stream) continue;
    const std::vector<Frame> frames = decode(*stream, with_threads(2, Latency::low));
    EXPECT_EQ(sums_of(frames), sums_of(decode(*stream, with_threads(2)))) << codec;
    EXPECT_TRUE(std::ranges::is_sorted(frames, {}, &Frame::pts)) << codec;
    EXPECT_EQ(frames.size(), 24u) << codec;
  }
}

// A message of its own in front of every packet, with the packet's ordinal.
std::string mark_for(const std::string& codec, std::size_t ordinal) {
  const std::string text = fmt::format("packet number {:05}", ordinal);
  if (codec == "av1") return std::string("\x2a\x15\x1f", 3) + text + "\x80";
  const std::string header = codec == "hevc" ? std::string("\x4e\x01", 2) : "\x06";
  const std::string unit = header + "\x05" + static_cast<char>(text.size()) + text + "\x80";
  return unit;
}

Stream marked(const Stream& from) {
  Stream stream = from;
  for (std::size_t i = 0; i < stream.packets.size(); ++i) {
    Packet& packet = stream.packets[i];
    const auto old = packet.bytes;
    std::string text(reinterpret_cast<const char*>(old.data()), old.size());
    std::string mark = mark_for(from.info.codec, i);
    if (from.info.codec == "av1") {
      text.insert(text.starts_with(std::string("\x12\0", 2)) ? 2 : 0, mark);
    } else {
      const bool prefixed = !from.info.extradata.empty() && from.info.extradata[0] == std::byte{1};
      const std::string head =
          prefixed ? std::string(3, '\0') + static_cast<char>(mark.size()) : std::string("\0\0\0\1", 4);
      text.insert(0, head + mark);
    }
    const auto owner = std::make_shared<const std::string>(std::move(text));
    packet.bytes = std::as_bytes(std::span(*owner));
    packet.owner = owner;
  }
  return stream;
}

std::string mark_of(const Frame& frame) {
  std::string marks;
  for (const SeiMessage& message : frame.sei) {
    const std::string text(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size());
    if (text.starts_with("packet number")) marks += text;
  }
  return marks;
}

TEST_F(FfmpegDecoder, SeiComesWithItsFrame) {
  const std::tuple<const char*, const char*, int> kinds[] = {
      {"h264", "mp4", 2}, {"h264", "264", 2}, {"hevc", "mp4", 2}, {"hevc", "265", 2}, {"av1", "mp4", 0}};
  for (const auto& [codec, extension, b_frames] : kinds) {
    const auto plain = clip(codec, extension, b_frames);
    if (!plain) continue;
    Stream stream = marked(*plain);
    // Times that name nothing: the frames must find their packets without them.
    for (std::size_t i = 0; i < stream.packets.size(); ++i)
      stream.packets[i].pts = stream.packets[i].dts = i % 3 ? no_pts : 7;
    Stream numbered = *plain;
    for (std::size_t i = 0; i < numbered.packets.size(); ++i) {
      numbered.packets[i].pts = static_cast<std::int64_t>(i);
      numbered.packets[i].dts = no_pts;
    }
    const std::vector<Frame> expected = decode(numbered, with_threads(1));
    for (const int threads : {1, 4})
      for (const Latency latency : {Latency::normal, Latency::low}) {
        SCOPED_TRACE(fmt::format("{} {}, {} threads", codec, extension, threads));
        DecoderOptions options = with_threads(threads, latency);
        options.sei = true;
        const std::vector<Frame> frames = decode(stream, options);
        ASSERT_EQ(sums_of(frames), sums_of(expected));
        for (std::size_t i = 0; i < frames.size(); ++i)
          ASSERT_EQ(mark_of(frames[i]), fmt::format("packet number {:05}", expected[i].pts)) << "frame " << i;
        options.sei = false;
        for (const Frame& frame : decode(stream, options)) ASSERT_TRUE(frame.sei.empty());
      }
  }
}

TEST_F(FfmpegDecoder, SeiOfAnEncoder) {
  const auto stream = clip("h264", "mp4", 2);
  if (!stream) GTEST_SKIP() << "no H.264 encoder";
  DecoderOptions options;
  options.sei = true;
  const std::vector<Frame> frames = decode(*stream, options);
  ASSERT_FALSE(frames.empty());
  ASSERT_FALSE(frames[0].sei.empty());
  EXPECT_EQ(frames[0].sei[0].type, 5); // x264 names itself as unregistered user data.
  const auto& bytes = frames[0].sei[0].bytes;
  EXPECT_NE(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find("x264"),
            std::string::npos);
}

TEST(Seconds, AreThoseOfTheFraction) {
  for (const Rational base : {Rational{1, 12800}, Rational{1, 25}, Rational{1001, 30000}, Rational{1, 90000}})
    for (std::int64_t i = 0; i < 1000; ++i) {
      const std::int64_t pts = i * 512;
      EXPECT_EQ(seconds_of(pts, base), static_cast<double>(pts * base.num) / static_cast<double>(base.den));
    }
  EXPECT_EQ(seconds_of(17920, {1, 12800}), 1.4);
  EXPECT_EQ(seconds_of(5, {1, 0}), 0.0);
  EXPECT_NEAR(seconds_of(INT64_MAX, {1, 1000}), 9.223372036854775e15, 2);
}

TEST_F(FfmpegDecoder, ThreadsAreBounded) {
  StreamInfo stream;
  stream.kind = "video";
  stream.codec = "h264";
  for (const int threads : {-1, 257, INT_MAX})
    LANNER_EXPECT_ERROR(create_decoder(stream, with_threads(threads, Latency::normal)),
                        ErrorCode::invalid_argument, "expected 0");
}

TEST_F(FfmpegDecoder, FlushForgetsSeiThatWaits) {
  const auto plain = clip("h264", "mp4", 2);
  if (!plain) GTEST_SKIP() << "no H.264 encoder";
  const Stream stream = marked(*plain);
  DecoderOptions options = with_threads(1);
  options.sei = true;
  const auto decoder = create_decoder(stream.info, options);
  for (std::size_t i = 0; i < 5; ++i) decoder->send(&stream.packets[i]);
  decoder->flush();
  const std::vector<Frame> frames = decode(*decoder, stream.packets);
  ASSERT_EQ(frames.size(), stream.packets.size());
  std::set<std::string> marks;
  for (const Frame& frame : frames) marks.insert(mark_of(frame));
  EXPECT_EQ(marks.size(), frames.size());
  EXPECT_EQ(mark_of(frames[0]), "packet number 00000");
}

TEST_F(FfmpegDecoder, OrderOfFields) {
  for (const char* order : {"tff", "bff", "prog"}) {
    const auto path = folder_ / "fields.mp4";
    const auto made =
        test::output_of(fmt::format("ffmpeg -y -v error -f lavfi -i testsrc2=s=96x64:r=25 "
                                    "-frames:v 8 -vf setfield={} {} -c:v libx264 -bf 2 {}",
                                    order, *order == 'p' ? "" : "-flags +ildct", test::quoted(path)));
    if (!made) GTEST_SKIP() << "no program ffmpeg with an H.264 encoder";
    const std::vector<Frame> frames = decode(read_stream(path));
    ASSERT_EQ(frames.size(), 8u);
    for (const Frame& frame : frames) {
      EXPECT_EQ(frame.interlaced, *order != 'p');
      EXPECT_EQ(frame.top_field_first, *order == 't');
    }
  }
}

std::string bits_of(const std::string& bytes) {
  std::string bits;
  for (const unsigned char byte : bytes) bits += std::bitset<8>(byte).to_string();
  return bits;
}

std::string bytes_of_bits(std::string bits) {
  bits.resize((bits.size() + 7) / 8 * 8, '0');
  std::string bytes;
  for (std::size_t i = 0; i < bits.size(); i += 8)
    bytes += static_cast<char>(std::bitset<8>(bits.substr(i, 8)).to_ulong());
  return bytes;
}

// Two operating points where there was one: all pictures, and those of temporal layer 0 alone (AV1 5.5.1).
std::string with_two_points(const std::string& sequence_header) {
  const std::string bits = bits_of(sequence_header);
  EXPECT_EQ(bits.substr(4, 8), "00000000") << "timing information, or more points already";
  const bool tier = std::bitset<5>(bits.substr(24, 5)).to_ulong() > 7;
  const std::string level = bits.substr(24, tier ? 6 : 5);
  return bytes_of_bits(bits.substr(0, 7) + "00001" + "000100000011" + level + "000100000001" + level +
                       bits.substr(24 + level.size()));
}

// The units of a packet, with the pictures in temporal layer `layer`.
std::string layered(std::span<const std::byte> packet, int layer) {
  std::string result;
  ObuWalker walker(packet);
  while (const auto unit = walker.next()) {
    std::string payload(reinterpret_cast<const char*>(unit->payload.data()), unit->payload.size());
    const int type = static_cast<int>(unit->type);
    if (unit->type == ObuType::sequence_header) payload = with_two_points(payload);
    const bool picture = type == 3 || type == 4 || type == 6;
    result += static_cast<char>(type << 3 | 2 | (picture ? 4 : 0));
    if (picture) result += static_cast<char>(layer << 5);
    for (std::size_t size = payload.size();; size >>= 7) {
      result += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
      if (size <= 0x7f) break;
    }
    result += payload;
  }
  return result;
}

TEST_F(FfmpegDecoder, TheHighestOperatingPointOfAv1) {
  auto stream = clip("av1", "ivf", 0);
  if (!stream) GTEST_SKIP() << "no AV1 encoder";
  const auto expected = sums_of(decode(*stream));
  for (std::size_t i = 0; i < stream->packets.size(); ++i) {
    Packet& packet = stream->packets[i];
    const auto owner = std::make_shared<const std::string>(layered(packet.bytes, static_cast<int>(i % 2)));
    packet.bytes = std::as_bytes(std::span(*owner));
    packet.owner = owner;
  }
  EXPECT_EQ(count_layers(stream->info, stream->packets[0].bytes), 2);
  stream->info.extradata.clear();
  stream->info.parameters.reset();
  EXPECT_EQ(sums_of(decode(*stream)), expected);
}

TEST_F(FfmpegDecoder, ResetGoesOnWithAnyStream) {
  std::vector<Stream> streams;
  for (const auto& [codec, extension] :
       {std::pair{"h264", "mp4"}, {"vp9", "webm"}, {"hevc", "mkv"}, {"mpeg4", "avi"}, {"h264", "264"}}) {
    auto stream = clip(codec, extension, std::string(codec) == "vp9" ? 0 : 2);
    if (stream) streams.push_back(std::move(*stream));
  }
  ASSERT_GT(streams.size(), 1u);
  const auto decoder = create_decoder(streams[0].info);
  StreamInfo unknown;
  unknown.kind = "video";
  unknown.codec = "nosuchcodec";
  for (int round = 0; round < 2; ++round)
    for (const Stream& stream : streams) {
      // In the middle of a stream, after a failure, and after the end.
      decoder->send(&stream.packets[0]);
      LANNER_EXPECT_ERROR(decoder->reset(unknown), ErrorCode::unsupported, "nosuchcodec");
      decoder->reset(stream.info);
      EXPECT_EQ(sums_of(decode(*decoder, stream.packets)), sums_of(decode(stream)));
      EXPECT_TRUE(decoder->finished());
      decoder->reset(stream.info);
      EXPECT_FALSE(decoder->finished());
    }
}

TEST_F(FfmpegDecoder, ResetAfterDamage) {
  const auto stream = clip("h264", "mp4", 2);
  if (!stream) GTEST_SKIP() << "no H.264 encoder";
  DecoderOptions options;
  options.raise_on_error = true;
  const auto decoder = create_decoder(stream->info, options);
  const std::vector<std::byte> noise(500, std::byte{0x5a});
  Packet bad = stream->packets[0];
  bad.bytes = noise;
  EXPECT_THROW(decode(*decoder, {bad}), Error);
  decoder->reset(stream->info);
  EXPECT_EQ(sums_of(decode(*decoder, stream->packets)), sums_of(decode(*stream)));
}

TEST_F(FfmpegDecoder, SizeChangesInsideTheStream) {
  const auto path = test::shared_data_dir() / "video/vali/test_res_change.h264";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data at " << path;
  const Stream stream = read_stream(path);
  for (const int threads : {1, 3}) {
    std::map<std::pair<int, int>, int> sizes;
    for (const Frame& frame : decode(stream, with_threads(threads))) {
      ++sizes[{frame.image.width, frame.image.height}];
      EXPECT_EQ(frame.image.planes[1].width, (frame.image.width + 1) / 2);
    }
    EXPECT_EQ(sizes.size(), 2u);
    for (const auto& [size, count] : sizes) EXPECT_GT(count, 1) << size.first << "x" << size.second;
  }
}

TEST_F(FfmpegDecoder, FormatChangesInsideTheStream) {
  const auto narrow = clip("h264", "264", 0);
  EncoderOptions options;
  options.format = PixelFormat::yuv444p;
  options.width = 64;
  options.height = 80;
  if (!narrow) GTEST_SKIP() << "no H.264 encoder";
  const Stream wide = read_stream(test::make_clip(folder_ / "wide.264", 12, options));
  Stream joined = *narrow;
  joined.packets.insert(joined.packets.end(), wide.packets.begin(), wide.packets.end());
  auto expected = sums_of(decode(*narrow));
  const auto rest = sums_of(decode(wide));
  expected.insert(expected.end(), rest.begin(), rest.end());
  for (const int threads : {1, 2}) {
    const std::vector<Frame> frames = decode(joined, with_threads(threads));
    EXPECT_EQ(sums_of(frames), expected);
    EXPECT_EQ(frames.front().image.format, PixelFormat::yuv420p);
    EXPECT_EQ(frames.back().image.format, PixelFormat::yuv444p);
    EXPECT_EQ(frames.back().image.height, 80);
  }
}

TEST_F(FfmpegDecoder, PixelsThatAreNotSquare) {
  EncoderOptions options;
  options.sample_aspect = {4, 3};
  const Stream stream = read_stream(test::make_clip(folder_ / "a.264", 5, options));
  EXPECT_EQ(stream.info.sample_aspect, (Rational{4, 3}));
  for (const Frame& frame : decode(stream)) EXPECT_EQ(frame.sample_aspect, (Rational{4, 3}));
}

TEST_F(FfmpegDecoder, CropsToTheExactPixel) {
  for (const auto& [width, height] : {std::pair{50, 38}, {98, 66}, {17 * 2, 31 * 2}}) {
    EncoderOptions options;
    options.width = width;
    options.height = height;
    options.crf = 4;
    const Stream stream = read_stream(test::make_clip(folder_ / "crop.264", 3, options));
    EXPECT_EQ(stream.info.width, width);
    EXPECT_EQ(stream.info.height, height);
    const std::vector<Frame> frames = decode(stream);
    ASSERT_EQ(frames.size(), 3u);
    Image rgb = Image::allocate(PixelFormat::rgb24, width, height);
    convert_image(frames[0].image, rgb);
    EXPECT_GT(test::psnr(rgb, test::pattern(PixelFormat::rgb24, width, height, 0)), 25);
  }
}

TEST_F(FfmpegDecoder, RaisesOrConceals) {
  EncoderOptions options;
  options.crf = 4;
  options.b_frames = 0;
  const Stream stream = read_stream(test::make_clip(folder_ / "a.264", 24, options));
  Stream damaged = stream;
  std::vector<std::byte> bytes(stream.packets[5].bytes.begin(), stream.packets[5].bytes.end());
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end(), std::byte{0x77});
  damaged.packets[5].bytes = bytes;
  const auto expected = sums_of(decode(stream));
  for (const Latency latency : {Latency::normal, Latency::low}) {
    DecoderOptions reading = with_threads(latency == Latency::low ? 4 : 1, latency);
    const std::vector<Frame> frames = decode(damaged, reading);
    ASSERT_EQ(frames.size(), 24u);
    EXPECT_TRUE(frames[5].corrupt);
    EXPECT_FALSE(frames[4].corrupt);
    EXPECT_EQ(test::frame_checksum(frames[4].image), expected[4]);
    EXPECT_EQ(test::frame_checksum(frames[23].image), expected[23]); // Behind the next keyframe.
    reading.raise_on_error = true;
    LANNER_EXPECT_ERROR(decode(damaged, reading), ErrorCode::bad_data, "decode: h264");
  }
}

TEST_F(FfmpegDecoder, AfterAnErrorItGoesOn) {
  const auto stream = clip("h264", "mp4", 0, {}, 24);
  if (!stream) GTEST_SKIP() << "no H.264 encoder";
  DecoderOptions options = with_threads(1);
  options.raise_on_error = true;
  const auto decoder = create_decoder(stream->info, options);
  const std::vector<std::byte> noise(100, std::byte{0x7f});
  std::vector<Frame> frames;
  int errors = 0;
  for (std::size_t i = 0; i < stream->packets.size(); ++i) {
    Packet packet = stream->packets[i];
    if (i == 3) packet.bytes = noise;
    try {
      decoder->send(&packet);
      take_frames(*decoder, frames);
    } catch (const Error&) {
      ++errors;
    }
  }
  decoder->send(nullptr);
  take_frames(*decoder, frames);
  EXPECT_GT(errors, 0);
  EXPECT_EQ(sums_of(frames).back(), sums_of(decode(*stream)).back());
}

} // namespace
} // namespace lanner
