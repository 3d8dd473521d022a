// AudioReader and VideoWriter's audio, over files that they make themselves; tests/python/video compares them
// with ffmpeg's command.

#include <lanner/audio_reader.h>

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/video_writer.h>

#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner::test {
namespace {

constexpr std::int32_t rate = 16000;

/// Two channels whose samples tell their number.
Tensor ramp(std::int64_t first, std::int64_t count) {
  Tensor samples = Tensor::allocate(DType::i16, {2, count});
  const auto values = samples.as<std::int16_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<std::int16_t>((first + i) % 30000);
    values[static_cast<std::size_t>(count + i)] = static_cast<std::int16_t>(-((first + i) % 30000));
  }
  return samples;
}

/// Five seconds of it beside five pictures.
std::filesystem::path make_sound(const std::filesystem::path& path, std::string_view codec) {
  EncoderOptions encoder;
  encoder.codec = "ffv1";
  encoder.rate = {1, 1};
  VideoWriterOptions options(encoder);
  options.audio = AudioEncoderOptions{
      .codec = std::string(codec), .sample_rate = rate, .channels = 2, .bit_rate = 0, .metadata = {}};
  VideoWriter writer(path.string(), options);
  for (int i = 0; i < 5; ++i) {
    writer.write(pattern(PixelFormat::yuv420p, 32, 32, i));
    writer.write_audio(ramp(i * rate, rate));
  }
  writer.finish();
  return path;
}

AudioReaderOptions in_integers() {
  AudioReaderOptions options;
  options.dtype = DType::i16;
  return options;
}

void expect_ramp(const AudioSamples& samples, std::int64_t first, std::int64_t count) {
  ASSERT_EQ(samples.size(), count);
  EXPECT_EQ(samples.first, first);
  EXPECT_NEAR(samples.pts_seconds, static_cast<double>(first) / rate, 1e-9);
  const auto values = samples.data.as<std::int16_t>();
  for (const std::int64_t i : {std::int64_t{0}, count / 2, count - 1}) {
    EXPECT_EQ(values[static_cast<std::size_t>(i)], (first + i) % 30000) << i;
    EXPECT_EQ(values[static_cast<std::size_t>(count + i)], -((first + i) % 30000)) << i;
  }
}

} // namespace

class AudioFiles : public testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }
  TemporaryFolder folder_;
};

TEST_F(AudioFiles, SamplesAreReadByNumberInAnyOrder) {
  for (const std::string_view codec : {"flac", "pcm_s16le"}) {
    AudioReader audio(open_path(make_sound(folder_.path() / "a.mkv", codec)), in_integers());
    EXPECT_EQ(audio.sample_rate(), rate);
    EXPECT_EQ(audio.channels(), 2);
    for (const std::int64_t first : {70'000, 3, 50'000, 49'999, 50'001, 0})
      expect_ramp(audio.read_samples(first, first + 1500), first, 1500);
    EXPECT_EQ(audio.size(), 5 * rate);
    expect_ramp(audio.read_samples(5 * rate - 10, 5 * rate + 10), 5 * rate - 10, 10);
  }
}

TEST_F(AudioFiles, RangesOfSecondsAdjoin) {
  AudioReader audio(open_path(make_sound(folder_.path() / "a.mkv", "flac")), in_integers());
  expect_ramp(audio.read(1, 2), rate, rate);
  expect_ramp(audio.read(2, 2.25), 2 * rate, rate / 4);
  EXPECT_EQ(audio.read(0.99999, 1.00001).size(), 0); // Both are nearest to the same sample.
}

TEST_F(AudioFiles, ChunksComeInOrderAndAgain) {
  AudioReaderOptions options = in_integers();
  options.chunk_seconds = 1.5;
  AudioReader audio(open_path(make_sound(folder_.path() / "a.mkv", "flac")), options);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::int64_t> sizes;
    while (const auto chunk = audio.next()) sizes.push_back(chunk->size());
    EXPECT_EQ(sizes, (std::vector<std::int64_t>{24000, 24000, 24000, 8000}));
    EXPECT_FALSE(audio.next());
    audio.rewind();
  }
}

TEST_F(AudioFiles, ResampledRangeIsThatOfTheWhole) {
  AudioReaderOptions options;
  options.sample_rate = 44100;
  options.channels = 1;
  const auto path = make_sound(folder_.path() / "a.mkv", "flac");
  AudioReader audio(open_path(path), options);
  const AudioSamples whole = audio.read();
  EXPECT_EQ(whole.size(), audio.size());
  EXPECT_EQ(whole.data.shape()[0], 1);
  const AudioSamples part = AudioReader(open_path(path), options).read_samples(100'000, 100'500);
  const auto all = whole.data.as<float>(), some = part.data.as<float>();
  ASSERT_EQ(some.size(), 500u);
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i], all[100'000 + i]) << i;
}

TEST_F(AudioFiles, CancelledCallEndsAndTheReaderGoesOn) {
  AudioReader audio(open_path(make_sound(folder_.path() / "a.mkv", "flac")), in_integers());
  Control control{CancelToken::create(), {}};
  control.progress = [&](const ProgressUpdate&) { control.cancel.cancel(); };
  LANNER_EXPECT_ERROR(audio.size(control), ErrorCode::cancelled, "");
  expect_ramp(audio.read_samples(40'000, 40'100), 40'000, 100);
}

TEST_F(AudioFiles, FactsOfAStreamAreThoseOfTheContainer) {
  const auto path = make_sound(folder_.path() / "a.mkv", "flac");
  const auto demuxer = open_demuxer(open_path(path));
  EXPECT_EQ(best_audio(*demuxer), 1);
  const AudioFormat format = audio_format(*demuxer, 1);
  EXPECT_EQ(format.sample_rate, rate);
  EXPECT_EQ(format.channel_layout, "stereo");
  LANNER_EXPECT_ERROR(audio_format(*demuxer, 0), ErrorCode::invalid_argument, "stream 0 is not audio");
}

TEST_F(AudioFiles, WrongCallsAreOneLine) {
  const auto path = make_sound(folder_.path() / "a.mkv", "flac");
  AudioReader audio(open_path(path));
  LANNER_EXPECT_ERROR(audio.read(2, 1), ErrorCode::invalid_argument, "range from 2 to 1 s");
  LANNER_EXPECT_ERROR(audio.read_samples(-1, 1), ErrorCode::invalid_argument, "samples -1 to 1");
  LANNER_EXPECT_ERROR(AudioReader(nullptr), ErrorCode::invalid_argument, "no source");
  AudioReaderOptions options;
  options.chunk_seconds = 0;
  LANNER_EXPECT_ERROR(AudioReader(open_path(path), options), ErrorCode::invalid_argument, "chunk_seconds 0");
}

} // namespace lanner::test
