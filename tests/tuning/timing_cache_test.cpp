#include "file_content.h"
#include "lower/measure/timing_cache.h"

#include <fstream>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "base/limits/account.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

const std::string one(32, '1'), two(32, '2'), three(32, 'f');

std::optional<double> seconds_of(const TimingCache& cache, const std::string& key) {
  const auto timing = cache.timing(key);
  return timing ? std::optional(timing->seconds) : std::nullopt;
}

class TimingCacheFile : public testing::Test {
protected:
  std::filesystem::path file() const { return folder / "timing.txt"; }
  std::string content() const { return test::content_of(file()); }
  void write(const std::string& text) const { std::ofstream(file(), std::ios::binary) << text; }
  /// Content of a file with one entry, which tests damage.
  std::string whole() const {
    TimingCache cache(file());
    cache.set_timing(one, {0.25, 0.125});
    cache.set_verdict(one, {});
    cache.save();
    return content();
  }

  TemporaryFolder folder;
};

TEST(TimingCache, IsEmptyAtFirst) {
  const TimingCache cache;
  EXPECT_FALSE(seconds_of(cache, one));
  EXPECT_FALSE(cache.verdict(one));
}

TEST(TimingCache, KeepsSecondsAndVerdictsApart) {
  TimingCache cache;
  cache.set_timing(one, {0.5, 0.125});
  cache.set_verdict(two, {"it is wrong"});
  EXPECT_EQ(seconds_of(cache, one), 0.5);
  EXPECT_FALSE(cache.verdict(one));
  EXPECT_FALSE(seconds_of(cache, two));
  EXPECT_EQ(cache.verdict(two)->wrong, "it is wrong");
  EXPECT_FALSE(cache.verdict(two)->right());
  cache.set_verdict(one, {});
  EXPECT_TRUE(cache.verdict(one)->right());
  EXPECT_EQ(seconds_of(cache, one), 0.5);
}

TEST_F(TimingCacheFile, IsReadAgain) {
  TimingCache cache(file());
  cache.set_timing(one, {1.25e-5, 0.125});
  cache.set_timing(two, {3, 0.125});
  cache.set_verdict(two, {});
  cache.set_verdict(three, {"output 0: 3 of 9 elements differ, the first at 1: 2, expected 4"});
  cache.save();
  const TimingCache again(file());
  EXPECT_EQ(seconds_of(again, one), 1.25e-5);
  EXPECT_EQ(again.timing(one)->error, 0.125);
  EXPECT_FALSE(again.verdict(one));
  EXPECT_EQ(seconds_of(again, two), 3);
  EXPECT_TRUE(again.verdict(two)->right());
  EXPECT_FALSE(seconds_of(again, three));
  EXPECT_EQ(again.verdict(three)->wrong, "output 0: 3 of 9 elements differ, the first at 1: 2, expected 4");
}

TEST_F(TimingCacheFile, IsCreatedInAMissingFolder) {
  TimingCache cache(folder / "a" / "b" / "timing.txt");
  cache.set_timing(one, {1, 0.125});
  cache.save();
  EXPECT_EQ(seconds_of(TimingCache(folder / "a" / "b" / "timing.txt"), one), 1);
}

TEST_F(TimingCacheFile, IsNotWrittenWithoutNewEntries) {
  whole();
  std::filesystem::remove(file());
  TimingCache cache(file());
  cache.save();
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(TimingCacheFile, OfAnotherKindOrVersionIsIgnored) {
  const std::string text = whole();
  const std::string entries = text.substr(text.find('\n') + 1);
  for (const std::string& foreign :
       {entries, "lanner timings 1\n" + entries, "\n" + text, " " + text,
        std::string("\x89PNG\r\n\x1a\n\0\0", 10), std::string(100'000, 'x'), std::string()}) {
    write(foreign);
    EXPECT_FALSE(seconds_of(TimingCache(file()), one)) << foreign.substr(0, 40);
    TimingCache cache(file());
    cache.set_timing(two, {2, 0.125});
    cache.save();
    EXPECT_EQ(seconds_of(TimingCache(file()), two), 2) << foreign.substr(0, 40);
  }
}

TEST_F(TimingCacheFile, DamagedLinesAreIgnoredAndTheRestIsRead) {
  const std::string text = whole();
  const std::string header = text.substr(0, text.find('\n') + 1);
  for (const std::string& line : std::vector<std::string>{one + " 0 0.1 right",
                                                          one + " -1 0.1 right",
                                                          one + " nan 0.1 right",
                                                          one + " inf 0.1 right",
                                                          one + " 1e7 0.1 right",
                                                          one + " 1,5 0.1 right",
                                                          one + " 0x10p2 0.1 right",
                                                          one + " 1 -0.1 right",
                                                          one + " 1 nan right",
                                                          one + " 1 inf right",
                                                          one + " 1 - right",
                                                          one + " - 0.1 right",
                                                          one + " 1 right",
                                                          one + " 1 0.1 ",
                                                          one + " 1 0.1",
                                                          one + " 1",
                                                          one + "",
                                                          one + " right",
                                                          one + "1 1 0.1 right",
                                                          one.substr(1) + " 1 0.1 right",
                                                          std::string(32, 'g') + " 1 0.1 right",
                                                          std::string(32, 'A') + " 1 0.1 right",
                                                          one + " 1 0.1 " + std::string(5000, 'x'),
                                                          std::string(64, '\0'),
                                                          std::string(2000, ' ')}) {
    write(header + line + "\n" + two + " 2 0.5 right\n");
    const TimingCache cache(file());
    EXPECT_FALSE(seconds_of(cache, one)) << line.substr(0, 60);
    EXPECT_FALSE(cache.verdict(one)) << line.substr(0, 60);
    EXPECT_EQ(seconds_of(cache, two), 2) << line.substr(0, 60);
  }
}

TEST_F(TimingCacheFile, ATruncatedFileIsReadUpToTheDamage) {
  const std::string text = whole();
  for (std::size_t size = 0; size < text.size(); ++size) {
    write(text.substr(0, size));
    EXPECT_FALSE(seconds_of(TimingCache(file()), one)) << size;
    EXPECT_FALSE(TimingCache(file()).verdict(one)) << size;
  }
}

TEST_F(TimingCacheFile, ADamagedVerdictIsIgnored) {
  const std::string text = whole();
  const std::size_t at = text.rfind("right");
  for (std::size_t i = at; i < at + 5; ++i)
    for (const char c : {' ', 'x', '\0', '\n', '\t', '-'}) {
      std::string damaged = text;
      damaged[i] = c;
      write(damaged);
      EXPECT_FALSE(TimingCache(file()).verdict(one)) << i - at << " " << static_cast<int>(c);
    }
}

TEST_F(TimingCacheFile, AReasonIsOneLineAndNeverParsedAsRight) {
  for (const std::string& reason :
       {std::string("first\nsecond\r\n\tthird"), std::string("right"), std::string("right\n"),
        std::string("-"), std::string(" "), std::string("\n"), std::string(100'000, 'r')}) {
    TimingCache cache(file());
    cache.set_verdict(one, {reason});
    cache.set_verdict(two, {});
    cache.save();
    const TimingCache again(file());
    ASSERT_TRUE(again.verdict(one)) << reason.substr(0, 20);
    EXPECT_FALSE(again.verdict(one)->right()) << reason.substr(0, 20);
    EXPECT_EQ(again.verdict(one)->wrong.find('\n'), std::string::npos);
    EXPECT_TRUE(again.verdict(two)->right());
  }
}

TEST_F(TimingCacheFile, TwoWritersAddToEachOther) {
  TimingCache a(file()), b(file());
  a.set_timing(one, {1, 0.125});
  b.set_timing(two, {2, 0.125});
  a.set_verdict(three, {});
  b.set_timing(three, {3, 0.125});
  a.save();
  b.save();
  const TimingCache both(file());
  EXPECT_EQ(seconds_of(both, one), 1);
  EXPECT_EQ(seconds_of(both, two), 2);
  EXPECT_EQ(seconds_of(both, three), 3);
  EXPECT_TRUE(both.verdict(three)->right());
}

TEST_F(TimingCacheFile, OwnResultsReplaceThoseOfTheFile) {
  TimingCache a(file()), b(file());
  a.set_timing(one, {1, 0.125});
  a.set_verdict(one, {});
  b.set_timing(one, {2, 0.125});
  b.set_verdict(one, {"it is wrong"});
  a.save();
  b.save();
  const TimingCache both(file());
  EXPECT_EQ(seconds_of(both, one), 2);
  EXPECT_EQ(both.verdict(one)->wrong, "it is wrong");
}

TEST_F(TimingCacheFile, ManyWritersAtOnceLoseNothing) {
  constexpr int writers = 8, rounds = 10;
  const auto key = [](int writer, int round) { return fmt::format("{:016x}{:016x}", writer, round); };
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer)
    threads.emplace_back([&, writer] {
      for (int round = 0; round < rounds; ++round) {
        TimingCache cache(file());
        cache.set_timing(key(writer, round), {1.0 + writer, 0.125});
        cache.save();
      }
    });
  for (std::thread& thread : threads) thread.join();
  const TimingCache all(file());
  for (int writer = 0; writer < writers; ++writer)
    for (int round = 0; round < rounds; ++round)
      EXPECT_EQ(seconds_of(all, key(writer, round)), 1 + writer) << writer << " " << round;
}

TEST_F(TimingCacheFile, RetuneIgnoresTimingsAndKeepsVerdicts) {
  {
    TimingCache cache(file());
    cache.set_timing(one, {1, 0.125});
    cache.set_verdict(one, {});
    cache.set_timing(two, {2, 0.125});
    cache.save();
  }
  TimingCache retuned(file(), true);
  EXPECT_FALSE(seconds_of(retuned, one));
  EXPECT_FALSE(seconds_of(retuned, two));
  EXPECT_TRUE(retuned.verdict(one)->right());
  retuned.set_timing(one, {0.5, 0.125});
  retuned.save();
  const TimingCache after(file());
  EXPECT_EQ(seconds_of(after, one), 0.5);
  EXPECT_EQ(seconds_of(after, two), 2) << "what was not timed again is lost";
}

TEST_F(TimingCacheFile, SharesEntriesAtEachSave) {
  TimingCache a(file()), b(file());
  a.set_timing(one, {1, 0.125});
  a.save();
  EXPECT_FALSE(b.timing(one)) << "before it looks";
  b.refresh();
  EXPECT_EQ(seconds_of(b, one), 1);
  b.set_timing(one, {2, 0.125});
  b.set_verdict(two, {});
  b.save();
  a.refresh();
  EXPECT_EQ(seconds_of(a, one), 1) << "what it found out itself stays";
  EXPECT_TRUE(a.verdict(two)->right());
  TimingCache late(file());
  EXPECT_EQ(seconds_of(late, one), 2) << "the later line counts";
  EXPECT_TRUE(late.verdict(two)->right());
}

TEST_F(TimingCacheFile, RetuneUsesTimingsMadeMeanwhile) {
  TimingCache first(file());
  first.set_timing(one, {1, 0.125});
  first.save();
  TimingCache retuned(file(), true), other(file());
  other.set_timing(one, {2, 0.125});
  other.save();
  retuned.refresh();
  EXPECT_EQ(seconds_of(retuned, one), 2);
}

TEST_F(TimingCacheFile, IsAppendedToAndNotRewritten) {
  TimingCache a(file());
  a.set_timing(one, {1, 0.125});
  a.save();
  const std::string before = content();
  a.set_timing(two, {2, 0.125});
  a.save();
  EXPECT_EQ(content().substr(0, before.size()), before);
  EXPECT_GT(content().size(), before.size());
}

TEST_F(TimingCacheFile, EntriesSavedByAnotherBuildAreNotWrittenAgain) {
  TimingCache a(file()), b(file());
  for (TimingCache* cache : {&a, &b}) cache->set_verdict(one, {});
  a.set_timing(one, {1, 0.125});
  a.save();
  const std::string before = content();
  b.save();
  EXPECT_EQ(content(), before);
}

TEST_F(TimingCacheFile, AnIncompleteLineDoesNotDamageOthers) {
  whole();
  write(content() + two.substr(0, 20));
  TimingCache cache(file());
  cache.set_timing(two, {2, 0.125});
  cache.save();
  const TimingCache again(file());
  EXPECT_EQ(seconds_of(again, one), 0.25);
  EXPECT_EQ(seconds_of(again, two), 2);
}

TEST_F(TimingCacheFile, IsRewrittenWhenSupersededLinesDominate) {
  constexpr int saves = 6000;
  whole();
  std::string lines;
  for (int i = 0; i < saves; ++i) lines += fmt::format("{} {} 0.5 right\n", two, i + 1);
  write(content() + lines);
  TimingCache cache(file(), true);
  cache.set_timing(three, {3, 0.125});
  cache.save();
  EXPECT_LT(content().size(), 1000u);
  const TimingCache again(file());
  EXPECT_EQ(seconds_of(again, one), 0.25) << "what a build does not use stays for others";
  EXPECT_EQ(seconds_of(again, two), saves);
  EXPECT_EQ(seconds_of(again, three), 3);
}

TEST_F(TimingCacheFile, IsNotBlamedWhereTheTimeOfTheCallEndsWhileItIsRead) {
  constexpr int entries = 20000, deadlines = 100;
  std::string lines = whole();
  for (int i = 0; i < entries; ++i) lines += fmt::format("{:032x} 1 0.5 right\n", i);
  write(lines);
  std::string said;
  set_log_callback([&](LogLevel, std::string_view message) { said += message; });
  for (int i = 1; i <= deadlines; ++i) {
    Limits limits;
    limits.seconds = 0.001 * i;
    const DeadlineScope scope(limits);
    try {
      EXPECT_EQ(seconds_of(TimingCache(file()), fmt::format("{:032x}", entries - 1)), 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::limit_exceeded);
    }
  }
  set_log_callback(nullptr);
  EXPECT_EQ(said, "");
}

TEST_F(TimingCacheFile, UnwritableFileIsNoError) {
  write("a file where a folder would have to be");
  TimingCache cache(file() / "timing.txt");
  cache.set_timing(one, {1, 0.125});
  EXPECT_NO_THROW(cache.save());
  EXPECT_EQ(seconds_of(cache, one), 1);
  TimingCache folder_cache(folder.path());
  folder_cache.set_timing(one, {1, 0.125});
  EXPECT_NO_THROW(folder_cache.save());
}

} // namespace
} // namespace lanner
