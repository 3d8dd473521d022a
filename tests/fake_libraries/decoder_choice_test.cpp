// Which decoder a stream gets, and why.

#include <algorithm>

#include <lanner/video_reader.h>

#include "expect_error.h"
#include "fake_libraries/nvdec_clip.h"
#include "temporary_folder.h"
#include "video/clips.h"
#include "video/nvdec/library.h"

namespace lanner::test {
namespace {

using fake::Picture;

TEST_F(FakeNvdec, unsupported_streams_are_refused_by_name) {
  Picture like;
  LANNER_EXPECT_ERROR(fake_decoder(like, {}, "av1"), ErrorCode::unsupported,
                      "cuda:0: Fake GPU does not decode av1 4:2:0 8 bit");
  LANNER_EXPECT_ERROR(fake_decoder(like, {}, "prores"), ErrorCode::unsupported, "does not decode prores");
  like.width = 5000;
  LANNER_EXPECT_ERROR(fake_decoder(like), ErrorCode::unsupported,
                      "decodes vp9 4:2:0 8 bit from 48x16 to 4096x4096");
  DecoderOptions options;
  options.output = Device{DeviceKind::cuda, 1};
  LANNER_EXPECT_ERROR(fake_decoder(Picture(), options), ErrorCode::unsupported, "frames on cuda:1");
}

TEST_F(FakeNvdec, auto_takes_the_gpu_and_says_so) {
  const Picture like;
  DecoderOptions options;
  options.device = std::nullopt;
  const auto decoder = create_decoder(stream_of(like), options);
  EXPECT_EQ(decoder->reason(), "auto: cuda:0 decodes vp9 4:2:0 8 bit");
  EXPECT_EQ(decoder->device(), gpu_device);
  EXPECT_EQ(fake_decoder(like)->reason(), "asked for");
}

TEST_F(FakeNvdec, auto_tries_only_the_named_gpu) {
  LANNER_NEEDS_FFMPEG();
  const StreamInfo stream = stream_of(Picture());
  DecoderOptions options;
  options.gpu = gpu_device;
  LANNER_EXPECT_ERROR(create_decoder(stream, options), ErrorCode::invalid_argument, "device is cpu");
  options.device = std::nullopt;
  EXPECT_EQ(create_decoder(stream, options)->device(), gpu_device);
  options.gpu = Device{DeviceKind::cuda, 7};
  const auto elsewhere = create_decoder(stream, options);
  EXPECT_TRUE(elsewhere->device().is_host());
  EXPECT_EQ(elsewhere->reason(), "auto: there is no cuda:7");
  options.gpu = Device{};
  LANNER_EXPECT_ERROR(create_decoder(stream, options), ErrorCode::invalid_argument, "expected a GPU");
}

TEST_F(FakeNvdec, auto_takes_the_cpu_and_says_why) {
  LANNER_NEEDS_FFMPEG();
  DecoderOptions options;
  options.device = std::nullopt;
  const StreamInfo av1 = stream_of(Picture(), "av1");
  try {
    const auto decoder = create_decoder(av1, options);
    EXPECT_EQ(decoder->reason(), "auto: Fake GPU does not decode av1 4:2:0 8 bit");
    EXPECT_TRUE(decoder->device().is_host());
  } catch (const Error& error) { // This FFmpeg has no AV1.
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.message();
  }
  StreamInfo groups = stream_of(Picture(), "h264"); // Slice groups by its picture parameter set.
  for (const int value : {0, 0, 1, 0x67, 66, 0, 30, 0x80, 0, 0, 1, 0x68, 0xc4})
    groups.extradata.push_back(static_cast<std::byte>(value));
  EXPECT_EQ(create_decoder(groups, options)->reason(),
            "auto: Fake GPU does not decode h264 with flexible macroblock order");
  options.device = Device{};
  EXPECT_EQ(create_decoder(stream_of(Picture()), options)->reason(), "asked for");
}

TEST_F(FakeNvdec, frames_of_the_cpu_are_copied_to_the_gpu) {
  LANNER_NEEDS_FFMPEG();
  const TemporaryFolder folder;
  EncoderOptions encoder;
  encoder.codec = "mpeg4";
  const auto clip = make_clip(folder.path() / "clip.mkv", 6, encoder);
  VideoReaderOptions options;
  VideoReader want(open_path(clip), options);
  options.decoder.output = gpu_device;
  VideoReader got(open_path(clip), options);
  EXPECT_NE(got.decoder_description().find(", frames on cuda:0"), std::string::npos);
  int count = 0;
  for (; const auto frame = want.next(); ++count) {
    const auto there = got.next();
    ASSERT_TRUE(there);
    EXPECT_EQ(there->image.device, gpu_device);
    EXPECT_EQ(there->pts, frame->pts);
    Image back = Image::allocate(there->image.format, there->image.width, there->image.height);
    copy_image(there->image, back);
    EXPECT_EQ(frame_checksum(back), frame_checksum(frame->image));
  }
  EXPECT_EQ(count, 6);
}

TEST_F(FakeNvdec, reset_recovers_from_a_refused_sequence) {
  const Picture like;
  auto decoder = fake_decoder(like);
  Picture deep = like;
  deep.depth = 14;
  auto pictures = sequence(4, like);
  pictures.push_back(sequence(1, deep)[0]);
  pictures.push_back(sequence(2, deep)[1]);
  LANNER_EXPECT_ERROR(decode(*decoder, pictures), ErrorCode::unsupported, "does not decode vp9 4:2:0 14 bit");
  decoder->reset(stream_of(like));
  EXPECT_EQ(decode(*decoder, sequence(4, like)).size(), 4u);
  Picture huge = like;
  huge.width = 8000;
  LANNER_EXPECT_ERROR(decoder->reset(stream_of(huge)), ErrorCode::unsupported, "to 4096x4096");
  decoder->reset(stream_of(like));
  EXPECT_EQ(decode(*decoder, sequence(4, like)).size(), 4u);
}

TEST_F(FakeNvdec, reports_its_capabilities) {
  const auto table = decoder_capabilities(gpu_device);
  const auto row = [&](std::string_view codec, std::string_view chroma, int depth) {
    const auto found = std::ranges::find_if(table, [&](const DecoderCapability& can) {
      return can.codec == codec && can.chroma == chroma && can.bit_depth == depth;
    });
    return found == table.end() ? DecoderCapability{} : *found;
  };
  EXPECT_TRUE(row("h264", "4:2:0", 8).supported);
  EXPECT_EQ(row("h264", "4:2:0", 8).engines, 7);
  EXPECT_EQ(row("hevc", "4:4:4", 10).max_width, 4096);
  EXPECT_FALSE(row("av1", "4:2:0", 8).supported);
  EXPECT_FALSE(row("hevc", "4:2:2", 10).supported);
}

TEST_F(FakeNvdec, a_missing_library_says_what_was_looked_for) {
  const char* const names[] = {"liblanner-no-such-thing.so.1"};
  EXPECT_NE(nvdec::open_library(names).reason.find("liblanner-no-such-thing"), std::string::npos);
  const char* const other[] = {"libcudnn.so.9"};
  EXPECT_NE(nvdec::open_library(other).reason.find("it has no cuvidGetDecoderCaps"), std::string::npos);
}

} // namespace
} // namespace lanner::test
