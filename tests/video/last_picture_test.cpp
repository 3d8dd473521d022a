// How long the last picture of a file is shown: what writers put into its tables, and what readers make of
// them.

#include "video/write/last_picture.h"

#include <gtest/gtest.h>

#include "video/index/packet_table.h"

namespace lanner {
namespace {

Packet packet_at(std::int64_t pts, std::int64_t dts) {
  Packet packet;
  packet.pts = pts;
  packet.dts = dts;
  packet.duration = 40;
  return packet;
}

/// What an MP4 file tells of a track: from its first decoding time on, and from its first picture.
void expect_whole(const ShownSpan& shown, const Packet& last) {
  EXPECT_EQ(last.dts + last.duration - shown.first_dts, shown.end - shown.first_pts);
  EXPECT_LE(last.pts + last.duration, shown.end);
  EXPECT_LE(last.dts, last.pts);
  EXPECT_GT(last.duration, 0);
}

} // namespace

TEST(LastPicture, DistancesOfDecodingAddUpToWhatIsShown) {
  // Pictures at 0, 40, ... 280; the last one is shown for 1000, and decoded before the last packet.
  const ShownSpan shown{0, -80, 1280};
  Packet last = packet_at(240, 200);
  end_decoding_with(shown, last);
  EXPECT_EQ(last.dts, 200);
  EXPECT_EQ(last.duration, 1000);
  expect_whole(shown, last);
}

TEST(LastPicture, InTheOrderOfDecodingItKeepsItsOwnDuration) {
  const ShownSpan shown{0, 0, 1280};
  Packet last = packet_at(280, 280);
  end_decoding_with(shown, last);
  EXPECT_EQ(last.dts, 280);
  EXPECT_EQ(last.duration, 1000);
  Packet delayed = packet_at(280, 200);
  end_decoding_with({0, -80, 1280}, delayed);
  EXPECT_EQ(delayed.duration, 1000);
}

TEST(LastPicture, UnevenDistancesAreMadeUpForByTheLastDecodingTime) {
  // Pictures end far apart and begin close together.
  const ShownSpan shown{0, -20, 12'000};
  Packet last = packet_at(10'000, 8000);
  end_decoding_with(shown, last);
  EXPECT_EQ(last.dts, 9980);
  expect_whole(shown, last);
  // They begin far apart: the sum is larger in any case.
  Packet close = packet_at(3040, 3000);
  end_decoding_with({0, -1000, 3120}, close);
  EXPECT_EQ(close.dts, 3000);
  EXPECT_EQ(close.duration, 1);
}

TEST(LastPicture, PacketsWithoutTimesStayAsTheyAre) {
  Packet last = packet_at(240, no_pts);
  end_decoding_with({0, -80, 1280}, last);
  EXPECT_EQ(last.duration, 40);
  last = packet_at(240, 200);
  end_decoding_with({0, no_pts, 1280}, last);
  EXPECT_EQ(last.duration, 40);
}

TEST(LastPicture, IsShownUntilTheStreamsEnd) {
  constexpr Rational milliseconds{1, 1000};
  EXPECT_EQ(shown_until(280, 1280, 10, milliseconds), 1000);
  EXPECT_EQ(shown_until(280, 1280, 0, milliseconds), 1000);
  EXPECT_EQ(shown_until(280, no_pts, 40, milliseconds), 40);
  EXPECT_EQ(shown_until(no_pts, 1280, 40, milliseconds), 40);
  EXPECT_EQ(shown_until(280, 280, 40, milliseconds), 40) << "the end is not behind it";
  EXPECT_EQ(shown_until(280, 321, 40, milliseconds), 40) << "ends are rounded to milliseconds";
  EXPECT_EQ(shown_until(INT64_MIN + 1, INT64_MAX, 40, milliseconds), 40);
}

TEST(LastPicture, TheIndexGivesItToThePictureThatIsShownLast) {
  std::vector<PacketEntry> packets(4);
  const std::int64_t times[] = {0, 120, 40, 80};
  for (std::size_t i = 0; i < packets.size(); ++i) packets[i].pts = times[i], packets[i].duration = 40;
  show_until(packets, 1120, {1, 1000});
  EXPECT_EQ(packets[1].duration, 1000);
  EXPECT_EQ(packets[3].duration, 40);
  packets[1].shown = false;
  show_until(packets, 1120, {1, 1000});
  EXPECT_EQ(packets[3].duration, 1040);
  packets[0].pts = no_pts;
  packets[3].duration = 40;
  show_until(packets, 1120, {1, 1000});
  EXPECT_EQ(packets[3].duration, 40);
}

} // namespace lanner
