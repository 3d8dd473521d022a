// Packets turned to elementary streams: rules by hand, whole clips by decoding what came out.

#include "video/bitstream/elementary_stream.h"

#include <cstring>

#include <lanner/demuxer.h>
#include <lanner/video_reader.h>

#include "expect_error.h"
#include "source_dir.h"
#include "video/bitstream/h264_headers.h"
#include "video/clips.h"

namespace lanner {
namespace {

using Buffer = std::vector<std::byte>;

Buffer bytes(std::initializer_list<int> values) {
  Buffer made;
  for (const int value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

StreamInfo stream_of(const std::string& codec, Buffer extradata = {}) {
  StreamInfo stream;
  stream.kind = "video";
  stream.codec = codec;
  stream.extradata = std::move(extradata);
  return stream;
}

Buffer converted(ElementaryStream& stream, const Buffer& packet) {
  Packet input;
  input.bytes = packet;
  const auto piece = stream.convert(input);
  return {piece.begin(), piece.end()};
}

// Lengths of two bytes, an SPS 67 42 and a PPS 68 ce.
const Buffer avcc = bytes({1, 0x42, 0, 30, 0xfd, 0xe1, 0, 2, 0x67, 0x42, 1, 0, 2, 0x68, 0xce});

TEST(ElementaryStream, LengthsBecomeStartCodes) {
  ElementaryStream stream(stream_of("h264", avcc));
  const Buffer idr = bytes({0, 1, 9, 0, 2, 0x65, 7, 0, 2, 0x65, 8}), other = bytes({0, 2, 0x41, 9});
  const Buffer sets = bytes({0, 0, 0, 1, 0x67, 0x42, 0, 0, 0, 1, 0x68, 0xce});
  Buffer want = bytes({0, 0, 0, 1, 9}); // The delimiter comes first.
  want.insert(want.end(), sets.begin(), sets.end());
  for (const int value : {0, 0, 0, 1, 0x65, 7, 0, 0, 0, 1, 0x65, 8})
    want.push_back(static_cast<std::byte>(value));
  EXPECT_EQ(converted(stream, idr), want);
  EXPECT_EQ(converted(stream, other), bytes({0, 0, 0, 1, 0x41, 9}));
  EXPECT_EQ(converted(stream, idr), want); // Every keyframe has them.
  stream.restart();
  Buffer begun = sets;
  for (const int value : {0, 0, 0, 1, 0x41, 9}) begun.push_back(static_cast<std::byte>(value));
  EXPECT_EQ(converted(stream, other), begun);
}

TEST(ElementaryStream, SetsInPacketsReplaceThoseOfTheContainer) {
  ElementaryStream stream(stream_of("h264", avcc));
  converted(stream, bytes({0, 2, 0x67, 0x4d, 0, 2, 0x65, 7}));
  EXPECT_EQ(converted(stream, bytes({0, 2, 0x65, 8})), bytes({0, 0, 0, 1, 0x65, 8}));
}

TEST(ElementaryStream, LengthsThatLeadOutAreCutAndTold) {
  ElementaryStream stream(stream_of("h264", avcc));
  converted(stream, bytes({0, 1, 9}));
  EXPECT_EQ(
      converted(stream, bytes({0, 2, 0x41, 9, 0xff, 0xff, 0x41, 1})),
      bytes({0, 0, 0, 1, 0x67, 0x42, 0, 0, 0, 1, 0x68, 0xce, 0, 0, 0, 1, 0x41, 9, 0, 0, 0, 1, 0x41, 1}));
  EXPECT_TRUE(stream.damaged());
  EXPECT_EQ(converted(stream, bytes({0, 2, 0x41, 9})), bytes({0, 0, 0, 1, 0x41, 9}));
  EXPECT_FALSE(stream.damaged());
}

TEST(ElementaryStream, ExtradataThatEndsEarlyIsCut) {
  for (std::size_t size = 0; size < avcc.size(); ++size) {
    const Buffer cut(avcc.begin(), avcc.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_LE(stream_headers(stream_of("h264", cut)).size(), 12u) << size;
    EXPECT_EQ(uncommon_h264_feature(stream_of("h264", cut)), "") << size;
  }
  EXPECT_EQ(stream_headers(stream_of("h264", avcc)).size(), 12u);
}

TEST(ElementaryStream, BaseLayerOfScalableH264) {
  StreamInfo layered = stream_of("h264");
  layered.layers = 2;
  ElementaryStream stream(layered);
  EXPECT_EQ(converted(stream, bytes({0, 0, 1, 0x67, 5, 0, 0, 1, 0x6f, 6, 0, 0, 1, 0x6e,
                                     0, 0, 1, 0x65, 7, 0, 0, 1, 0x74, 8, 0, 0, 1})),
            bytes({0, 0, 0, 1, 0x67, 5, 0, 0, 0, 1, 0x65, 7}));
}

TEST(ElementaryStream, PackedBFramesWaitForTheEmptyPicture) {
  const Buffer vol = bytes({0, 0, 1, 0x20, 1});
  ElementaryStream stream(stream_of("mpeg4", vol));
  const Buffer packed = bytes({0, 0, 1, 0xb6, 0x50, 1, 0, 0, 1, 0xb6, 0x90, 2}),
               empty = bytes({0, 0, 1, 0xb6, 0x51});
  EXPECT_EQ(converted(stream, packed), bytes({0, 0, 1, 0x20, 1, 0, 0, 1, 0xb6, 0x50, 1}));
  EXPECT_EQ(converted(stream, empty), bytes({0, 0, 1, 0xb6, 0x90, 2}));
  EXPECT_EQ(converted(stream, empty), empty);
  converted(stream, packed);
  stream.restart();
  Buffer begun = vol;
  begun.insert(begun.end(), empty.begin(), empty.end());
  EXPECT_EQ(converted(stream, empty), begun);
}

TEST(ElementaryStream, HeadersOfOtherCodecs) {
  ElementaryStream vc1(stream_of("vc1", bytes({0x25, 0, 0, 1, 0x0f, 7})));
  EXPECT_EQ(converted(vc1, bytes({5, 6})), bytes({0, 0, 1, 0x0f, 7, 0, 0, 1, 0x0d, 5, 6}));
  EXPECT_EQ(converted(vc1, bytes({0, 0, 1, 0x0d, 5})), bytes({0, 0, 1, 0x0d, 5}));
  ElementaryStream av1(stream_of("av1", bytes({0x81, 4, 0, 0, 0x0a, 1, 9})));
  EXPECT_EQ(converted(av1, bytes({0x12, 0, 0x32, 1, 7})), bytes({0x0a, 1, 9, 0x12, 0, 0x32, 1, 7}));
  av1.restart();
  EXPECT_EQ(converted(av1, bytes({0x12, 0, 0x0a, 1, 8})), bytes({0x12, 0, 0x0a, 1, 8}));
  ElementaryStream vp9(stream_of("vp9", bytes({1, 2, 3})));
  EXPECT_EQ(converted(vp9, bytes({4})), bytes({4}));
}

TEST(ElementaryStream, PicturesOfMotionJpegGetTheirTables) {
  ElementaryStream stream(stream_of("mjpeg"));
  const Buffer bare = bytes({0xff, 0xd8, 0xff, 0xdb, 0, 3, 1, 0xff, 0xda, 0, 2, 7});
  const Buffer got = converted(stream, bare);
  ASSERT_EQ(got.size(), bare.size() + 420);
  EXPECT_EQ(got[3], std::byte{0xc4});
  EXPECT_EQ(converted(stream, got), got);
}

TEST(H264Headers, NamesWhatHardwareLacks) {
  EXPECT_EQ(uncommon_h264_feature(stream_of("h264", avcc)), "");
  EXPECT_NE(
      uncommon_h264_feature(stream_of("h264", bytes({0, 0, 1, 0x67, 88, 0, 30, 0x80}))).find("Extended"),
      std::string::npos);
  // Numbers 0 and 0, two flags, and 1 as ue(v): 1 1 00 010.
  EXPECT_EQ(
      uncommon_h264_feature(stream_of("h264", bytes({0, 0, 1, 0x67, 66, 0, 30, 0x80, 0, 0, 1, 0x68, 0xc4}))),
      "flexible macroblock order");
  EXPECT_EQ(
      uncommon_h264_feature(stream_of("h264", bytes({0, 0, 1, 0x67, 66, 0, 30, 0x80, 0, 0, 1, 0x68, 0xce}))),
      "");
  // High 4:4:4 Predictive: number 0, 4:2:0 as 1, depths 0 and 0, and the flag: 1 010 1 1 1; then 4:4:4 as 3.
  EXPECT_EQ(uncommon_h264_feature(stream_of("h264", bytes({0, 0, 1, 0x67, 244, 0, 30, 0xae}))),
            "lossless macroblocks");
  EXPECT_EQ(uncommon_h264_feature(stream_of("h264", bytes({0, 0, 1, 0x67, 244, 0, 30, 0xac}))), "");
  EXPECT_EQ(uncommon_h264_feature(stream_of("h264", bytes({0, 0, 1, 0x67, 244, 0, 30, 0x92}))),
            "separate colour planes");
  StreamInfo told = stream_of("h264");
  told.profile = "Extended";
  EXPECT_NE(uncommon_h264_feature(told), "");
}

std::vector<std::uint32_t> checksums(Decoder& decoder, Demuxer& demuxer, int stream,
                                     ElementaryStream* converter) {
  std::vector<std::uint32_t> sums;
  const auto take = [&] {
    while (const auto frame = decoder.receive()) sums.push_back(test::frame_checksum(frame->image));
  };
  while (auto packet = demuxer.next()) {
    if (packet->stream != stream) continue;
    Packet input = *packet;
    if (converter) input.bytes = converter->convert(*packet);
    while (!decoder.send(&input)) take();
    take();
  }
  while (!decoder.send(nullptr)) take();
  take();
  return sums;
}

/// A decoder that gets the elementary stream and nothing of the container's word decodes the same pictures.
TEST(ElementaryStream, TellsADecoderAllThatItNeeds) {
  LANNER_NEEDS_FFMPEG();
  const auto folder = test::shared_data_dir() / "video";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared data at " << folder;
  for (const char* name :
       {"jvt/CI_MW_D.264", "torchcodec/bt709_full_range.mp4", "torchcodec/h264_10bits.mp4",
        "torchcodec/h265_10bits.mp4", "torchcodec/testsrc2_444_8bit_hevc.mp4", "torchcodec/av1_video.mkv",
        "torchcodec/testsrc2_vp9.webm", "torchcodec/testsrc2_odd_width_mpeg2.mp4", "vali/test_mpeg4.mpg",
        "vali/test_hevc10.mkv"}) {
    const auto open = [&] { return open_demuxer(open_path(folder / name)); };
    auto demuxer = open();
    const StreamInfo stream = demuxer->streams().at(static_cast<std::size_t>(demuxer->best_video()));
    const auto want = checksums(*create_decoder(stream), *demuxer, stream.index, nullptr);
    StreamInfo bare = stream_of(stream.codec);
    bare.width = stream.width, bare.height = stream.height;
    bare.format = stream.format;
    bare.index = stream.index;
    bare.time_base = stream.time_base;
    ElementaryStream converter(stream);
    demuxer = open();
    const auto got = checksums(*create_decoder(bare), *demuxer, stream.index, &converter);
    EXPECT_FALSE(want.empty()) << name;
    EXPECT_EQ(got, want) << name;
  }
}

} // namespace
} // namespace lanner
