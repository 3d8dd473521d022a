// When frames of a clip are shown in a file that is written of them.

#include "video/write/clip_times.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lanner {
namespace {

constexpr Rational milliseconds{1, 1000};

struct Written {
  std::vector<std::int64_t> ticks;
  std::vector<std::string> notes;
};

/// As a writer calls it: the next timestamp is asked for only where one does not fit.
Written write(const std::vector<std::int64_t>& times, std::string format = "matroska",
              std::optional<double> begin = {}) {
  Written written;
  ClipTimes::Target target{std::move(format), "h264", {25, 1}, begin};
  ClipTimes clip(milliseconds, target, [&](const std::string& line) { written.notes.push_back(line); });
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool ask = !clip.fits(times[i]) && i + 1 < times.size();
    written.ticks.push_back(clip.next(times[i], 40, ask ? times[i + 1] : no_pts));
  }
  clip.finish();
  return written;
}

using Ticks = std::vector<std::int64_t>;

} // namespace

TEST(ClipTimes, GrowingTimestampsStayAsTheyAre) {
  const Written written = write({1400, 1440, 1500});
  EXPECT_EQ(written.ticks, (Ticks{1400, 1440, 1500}));
  EXPECT_TRUE(written.notes.empty());
}

TEST(ClipTimes, NegativeTimestampsAreShiftedToZero) {
  const Written written = write({-700, -660, 20});
  EXPECT_EQ(written.ticks, (Ticks{0, 40, 720}));
  ASSERT_EQ(written.notes.size(), 1u);
  EXPECT_EQ(written.notes[0], "timestamps begin at -0.700 s; they are shifted to begin at 0");
}

TEST(ClipTimes, OneTimestampThatGoesBackIsPlacedBetweenItsNeighbours) {
  EXPECT_EQ(write({0, 40, 30, 120, 160}).ticks, (Ticks{0, 40, 80, 120, 160}));
  EXPECT_EQ(write({0, 40, 40, 60}).ticks, (Ticks{0, 40, 50, 60}));
}

TEST(ClipTimes, AClockThatStartsAgainContinues) {
  const Written written = write({0, 40, 80, 0, 40, 80});
  EXPECT_EQ(written.ticks, (Ticks{0, 40, 80, 120, 160, 200}));
  EXPECT_EQ(written.notes.size(), 1u);
}

TEST(ClipTimes, AShiftEndsWhereTheClipsOwnTimesAreAheadAgain) {
  EXPECT_EQ(write({0, 40, 80, 0, 40, 500, 540}).ticks, (Ticks{0, 40, 80, 120, 160, 500, 540}));
}

TEST(ClipTimes, MissingTimestampsFollowThePreviousFrame) {
  EXPECT_EQ(write({no_pts, no_pts, 200, no_pts}).ticks, (Ticks{0, 40, 200, 240}));
}

TEST(ClipTimes, AviCountsFramesFromZero) {
  EXPECT_EQ(write({1400, 1440, 1480}, "avi").ticks, (Ticks{0, 1, 2}));
}

TEST(ClipTimes, APartBeginsAtZeroWithTheFrameOnTheScreen) {
  EXPECT_EQ(write({990, 1030, 1070}, "mp4", 1.0).ticks, (Ticks{0, 30, 70}));
}

TEST(ClipTimes, ManyWrongTimestampsAreCounted) {
  const Written written = write({500, 400, 300, 200, 100, 0});
  EXPECT_EQ(written.ticks, (Ticks{500, 540, 580, 620, 660, 700}));
  ASSERT_EQ(written.notes.size(), 4u);
  EXPECT_EQ(written.notes[3], "5 timestamps in all were not after the previous one");
}

TEST(ClipTimes, AFrameThatBeganBeforeThePartIsShownForTheRestOfItsDuration) {
  ClipTimes clip(milliseconds, {"matroska", "h264", {25, 1}, 5.0}, {});
  EXPECT_EQ(clip.next(0, 8000), 0);
  EXPECT_EQ(clip.length(), 3000);
  EXPECT_EQ(clip.next(8000, 40), 3000);
  EXPECT_EQ(clip.length(), 40);
}

} // namespace lanner
