// Clips that were cut off, overwritten, or whose packets were lost, repeated or mixed up. By default a few of
// the faults, chosen by a seed; with LANNER_TEST_FAULTS=all in the environment all of them.

#include <lanner/decoder.h>
#include <lanner/demuxer.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include <fcntl.h>
#include <malloc.h>

#include "source_dir.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

constexpr int all_faults = 50;
constexpr std::int64_t pixels_a_trial = 30'000'000;
constexpr int max_packets = 200'000;

bool every_fault() {
  const char* wanted = std::getenv("LANNER_TEST_FAULTS");
  return wanted && std::string(wanted) == "all";
}

/// Fifty ordinals, or the one of them that suits `clip`.
std::vector<int> trials(const std::string& clip, int kind) {
  std::vector<int> numbers;
  for (int i = 0; i < all_faults; ++i) numbers.push_back(i);
  if (every_fault()) return numbers;
  std::uint32_t hash = 2166136261u + static_cast<std::uint32_t>(kind);
  for (const char c : clip) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return {static_cast<int>(hash % all_faults)};
}

std::vector<std::filesystem::path> clips() {
  std::vector<std::filesystem::path> found;
  const auto folder = test::shared_data_dir() / "video";
  if (!std::filesystem::exists(folder)) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() != ".txt") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// One decoder that goes from fault to fault, and in between must decode a good clip exactly.
class Patient {
public:
  explicit Patient(const std::filesystem::path& good, int threads, bool raise) {
    const auto demuxer = open_demuxer(open_path(good));
    good_ = demuxer->streams().at(0);
    while (auto packet = demuxer->next()) packets_.push_back(std::move(*packet));
    options_.threads = threads;
    options_.raise_on_error = raise;
    options_.sei = true;
    options_.limits.pixels = 1 << 24;
    decoder_ = create_decoder(good_, options_);
    expected_ = decode_good();
  }

  /// Feeds it packets until they end or enough was decoded.
  void decode(const StreamInfo& stream, const std::function<std::optional<Packet>()>& next) {
    std::int64_t pixels = 0;
    const auto attempt = [&](auto&& action) {
      try {
        action();
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::internal) << error.message();
        EXPECT_EQ(error.message().find('\n'), std::string::npos);
      }
    };
    const auto take = [&] {
      while (const auto frame = decoder_->receive())
        pixels += std::int64_t{frame->image.width} * frame->image.height;
    };
    attempt([&] {
      decoder_->reset(stream);
      for (int count = 0; pixels < pixels_a_trial; ++count) {
        ASSERT_LT(count, max_packets);
        const std::optional<Packet> packet = next();
        if (!packet) break;
        bool taken = false;
        attempt([&] {
          while (!taken) {
            taken = true;
            taken = decoder_->send(&*packet);
            take();
          }
        });
      }
      attempt([&] { decoder_->send(nullptr); });
      for (int i = 0; i < 100 && !decoder_->finished(); ++i) attempt(take);
      EXPECT_TRUE(decoder_->finished());
    });
  }

  void expect_health() {
    decoder_->reset(good_);
    EXPECT_EQ(decode_good(), expected_);
  }

private:
  std::vector<std::uint32_t> decode_good() {
    std::vector<std::uint32_t> sums;
    const auto take = [&] {
      while (const auto frame = decoder_->receive()) sums.push_back(test::frame_checksum(frame->image));
    };
    for (const Packet& packet : packets_) {
      decoder_->send(&packet);
      take();
    }
    decoder_->send(nullptr);
    take();
    return sums;
  }

  StreamInfo good_;
  std::vector<Packet> packets_;
  DecoderOptions options_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<std::uint32_t> expected_;
};

class Fault : public ::testing::TestWithParam<std::filesystem::path> {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    good_ = test::make_clip(folder_ / "good.mp4", 10);
    whole_ = test::bytes_of(GetParam());
  }

  /// Demuxes and decodes; of what cannot be opened an error of the right kind is the answer.
  void read(const std::string& bytes, Patient& patient) {
    try {
      DemuxerOptions options;
      options.limits.seconds = 60;
      const auto demuxer = open_demuxer(open_bytes(std::as_bytes(std::span(bytes))), options);
      const int video = demuxer->best_video();
      if (video < 0) return;
      const StreamInfo stream = demuxer->streams().at(static_cast<std::size_t>(video));
      demuxer->select(std::span<const int>(&video, 1));
      patient.decode(stream, [&] { return demuxer->next(); });
      if (stream.start_pts != no_pts) demuxer->seek(video, stream.start_pts + stream.duration / 2);
      demuxer->next();
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal) << error.message();
      EXPECT_EQ(error.message().find('\n'), std::string::npos);
    }
  }

  TemporaryFolder folder_;
  std::filesystem::path good_;
  std::string whole_;
};

TEST_P(Fault, CutOff) {
  Patient patient(good_, 1, false), strict(good_, 3, true);
  for (const int trial : trials(GetParam(), 0)) {
    SCOPED_TRACE(trial);
    const std::string bytes =
        whole_.substr(0, whole_.size() * static_cast<std::size_t>(trial) / all_faults + 1);
    Patient& chosen = trial % 2 ? strict : patient;
    read(bytes, chosen);
    chosen.expect_health();
  }
}

TEST_P(Fault, OverwrittenBytes) {
  Patient patient(good_, 3, false), strict(good_, 1, true);
  for (const int trial : trials(GetParam(), 1)) {
    SCOPED_TRACE(trial);
    std::mt19937 random(static_cast<unsigned>(trial) + 1);
    std::string bytes = whole_;
    for (std::size_t i = 0; i < bytes.size() / 100 + 1; ++i)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    Patient& chosen = trial % 2 ? strict : patient;
    read(bytes, chosen);
    chosen.expect_health();
  }
}

TEST_P(Fault, PacketsLostRepeatedMixedUp) {
  const auto demuxer = open_demuxer(open_path(GetParam()));
  const int video = demuxer->best_video();
  const StreamInfo stream = demuxer->streams().at(static_cast<std::size_t>(video));
  std::vector<Packet> packets;
  while (auto packet = demuxer->next())
    if (packet->stream == video) packets.push_back(std::move(*packet));
  Patient patient(good_, 3, false), strict(good_, 1, true);
  for (const int trial : trials(GetParam(), 2)) {
    SCOPED_TRACE(trial);
    std::mt19937 random(static_cast<unsigned>(trial) + 1);
    std::vector<Packet> order;
    for (const Packet& packet : packets) {
      const auto fate = random() % 10;
      if (fate != 0) order.push_back(packet);
      if (fate == 1) order.push_back(packet);
      if (fate == 2 && order.size() > 4) std::swap(order.back(), order[order.size() - 1 - random() % 4]);
    }
    std::size_t at = 0;
    Patient& chosen = trial % 2 ? strict : patient;
    chosen.decode(stream, [&] { return at < order.size() ? std::optional(order[at++]) : std::nullopt; });
    chosen.expect_health();
  }
}

INSTANTIATE_TEST_SUITE_P(Video, Fault, ::testing::ValuesIn(clips()), [](const auto& tested) {
  std::string name = tested.param.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});
// Without the shared data there is none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Fault);

// Without /proc, which a bare chroot lacks.
int open_descriptors() {
  int count = 0;
  for (int descriptor = 0; descriptor < 4096; ++descriptor)
    count += ::fcntl(descriptor, F_GETFD) != -1 ? 1 : 0;
  return count;
}

/// Of the heap; a sanitizer's has none to tell of, and looks for leaks itself.
std::size_t bytes_in_use() {
  const auto facts = ::mallinfo2();
  return facts.uordblks + facts.hblkhd;
}

TEST(Faults, OpeningAgainAndAgainKeepsNothing) {
  LANNER_NEEDS_FFMPEG();
  const TemporaryFolder folder;
  const auto path = test::make_clip(folder / "tiny.mp4", 3);
  const auto once = [&](int round) {
    const auto demuxer = open_demuxer(open_path(path));
    DecoderOptions options;
    options.threads = round % 10 ? 1 : 2;
    options.sei = true;
    const auto decoder = create_decoder(demuxer->streams().at(0), options);
    int frames = 0;
    while (const auto packet = demuxer->next()) {
      decoder->send(&*packet);
      while (decoder->receive()) ++frames;
    }
    decoder->send(nullptr);
    while (decoder->receive()) ++frames;
    ASSERT_EQ(frames, 3);
  };
  for (int i = 0; i < 200; ++i) once(i);
  const int descriptors = open_descriptors();
  const std::size_t memory = bytes_in_use();
  const int rounds = every_fault() ? 10'000 : 1'000;
  for (int i = 0; i < rounds; ++i) once(i);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LT(bytes_in_use(), memory + (256 << 10)); // Three hundred bytes a round would be seen.
}

} // namespace
} // namespace lanner
