#include "lower/timing_cache.h"

#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace lanner {
namespace {

const std::string one(32, '1'), two(32, '2'), three(32, 'f');

class TimingCacheFile : public testing::Test {
protected:
  std::filesystem::path file() const { return folder / "timing.txt"; }
  std::string content() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(file(), std::ios::binary) << text; }
  /// A file with one entry, which tests damage.
  std::string whole() const {
    TimingCache cache(file());
    cache.set_seconds(one, 0.25);
    cache.set_verdict(one, {});
    cache.save();
    return content();
  }

  TemporaryFolder folder;
};

TEST(TimingCache, KnowsNothingAtFirst) {
  const TimingCache cache;
  EXPECT_FALSE(cache.seconds(one));
  EXPECT_FALSE(cache.verdict(one));
}

TEST(TimingCache, KeepsSecondsAndVerdictsApart) {
  TimingCache cache;
  cache.set_seconds(one, 0.5);
  cache.set_verdict(two, {"it is wrong"});
  EXPECT_EQ(cache.seconds(one), 0.5);
  EXPECT_FALSE(cache.verdict(one));
  EXPECT_FALSE(cache.seconds(two));
  EXPECT_EQ(cache.verdict(two)->wrong, "it is wrong");
  EXPECT_FALSE(cache.verdict(two)->right());
  cache.set_verdict(one, {});
  EXPECT_TRUE(cache.verdict(one)->right());
  EXPECT_EQ(cache.seconds(one), 0.5);
}

TEST_F(TimingCacheFile, IsReadAgain) {
  TimingCache cache(file());
  cache.set_seconds(one, 1.25e-5);
  cache.set_seconds(two, 3);
  cache.set_verdict(two, {});
  cache.set_verdict(three, {"output 0: 3 of 9 elements differ, the first at 1: 2, expected 4"});
  cache.save();
  const TimingCache again(file());
  EXPECT_EQ(again.seconds(one), 1.25e-5);
  EXPECT_FALSE(again.verdict(one));
  EXPECT_EQ(again.seconds(two), 3);
  EXPECT_TRUE(again.verdict(two)->right());
  EXPECT_FALSE(again.seconds(three));
  EXPECT_EQ(again.verdict(three)->wrong, "output 0: 3 of 9 elements differ, the first at 1: 2, expected 4");
}

TEST_F(TimingCacheFile, IsMadeInAFolderThatIsNotThere) {
  TimingCache cache(folder / "a" / "b" / "timing.txt");
  cache.set_seconds(one, 1);
  cache.save();
  EXPECT_EQ(TimingCache(folder / "a" / "b" / "timing.txt").seconds(one), 1);
}

TEST_F(TimingCacheFile, IsLeftAloneWhereNothingIsNew) {
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
    EXPECT_FALSE(TimingCache(file()).seconds(one)) << foreign.substr(0, 40);
    TimingCache cache(file());
    cache.set_seconds(two, 2);
    cache.save();
    EXPECT_EQ(TimingCache(file()).seconds(two), 2) << foreign.substr(0, 40);
  }
}

TEST_F(TimingCacheFile, DamagedLinesAreIgnoredAndTheRestIsRead) {
  const std::string text = whole();
  const std::string header = text.substr(0, text.find('\n') + 1);
  for (const std::string& line : std::vector<std::string>{
           one + " 0 right", one + " -1 right", one + " nan right", one + " inf right", one + " 1e7 right",
           one + " 1,5 right", one + " 0x10p2 right", one + " 1 ", one + " 1", one + "", one + " right",
           one + "1 1 right", one.substr(1) + " 1 right", std::string(32, 'g') + " 1 right",
           std::string(32, 'A') + " 1 right", one + " 1 " + std::string(5000, 'x'), std::string(64, '\0'),
           std::string(2000, ' ')}) {
    write(header + line + "\n" + two + " 2 right\n");
    const TimingCache cache(file());
    EXPECT_FALSE(cache.seconds(one)) << line.substr(0, 60);
    EXPECT_FALSE(cache.verdict(one)) << line.substr(0, 60);
    EXPECT_EQ(cache.seconds(two), 2) << line.substr(0, 60);
  }
}

TEST_F(TimingCacheFile, ATruncatedOneIsReadAsFarAsItIsWhole) {
  const std::string text = whole();
  for (std::size_t size = 0; size < text.size(); ++size) {
    write(text.substr(0, size));
    EXPECT_FALSE(TimingCache(file()).seconds(one)) << size;
    EXPECT_FALSE(TimingCache(file()).verdict(one)) << size;
  }
}

TEST_F(TimingCacheFile, ADamagedVerdictIsNone) {
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

TEST_F(TimingCacheFile, AReasonIsOneLineAndNeverRight) {
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
  a.set_seconds(one, 1);
  b.set_seconds(two, 2);
  a.set_verdict(three, {});
  b.set_seconds(three, 3);
  a.save();
  b.save();
  const TimingCache both(file());
  EXPECT_EQ(both.seconds(one), 1);
  EXPECT_EQ(both.seconds(two), 2);
  EXPECT_EQ(both.seconds(three), 3);
  EXPECT_TRUE(both.verdict(three)->right());
}

TEST_F(TimingCacheFile, WhatABuildFoundItselfIsNewer) {
  TimingCache a(file()), b(file());
  a.set_seconds(one, 1);
  a.set_verdict(one, {});
  b.set_seconds(one, 2);
  b.set_verdict(one, {"it is wrong"});
  a.save();
  b.save();
  const TimingCache both(file());
  EXPECT_EQ(both.seconds(one), 2);
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
        cache.set_seconds(key(writer, round), 1 + writer);
        cache.save();
      }
    });
  for (std::thread& thread : threads) thread.join();
  const TimingCache all(file());
  for (int writer = 0; writer < writers; ++writer)
    for (int round = 0; round < rounds; ++round)
      EXPECT_EQ(all.seconds(key(writer, round)), 1 + writer) << writer << " " << round;
}

TEST_F(TimingCacheFile, RetuningForgetsSecondsAndKeepsVerdicts) {
  {
    TimingCache cache(file());
    cache.set_seconds(one, 1);
    cache.set_verdict(one, {});
    cache.set_seconds(two, 2);
    cache.save();
  }
  TimingCache retuned(file(), true);
  EXPECT_FALSE(retuned.seconds(one));
  EXPECT_FALSE(retuned.seconds(two));
  EXPECT_TRUE(retuned.verdict(one)->right());
  retuned.set_seconds(one, 0.5);
  retuned.save();
  const TimingCache after(file());
  EXPECT_EQ(after.seconds(one), 0.5);
  EXPECT_EQ(after.seconds(two), 2) << "what was not timed again is lost";
}

TEST_F(TimingCacheFile, ThatCannotBeWrittenIsNoError) {
  write("a file where a folder would have to be");
  TimingCache cache(file() / "timing.txt");
  cache.set_seconds(one, 1);
  EXPECT_NO_THROW(cache.save());
  EXPECT_EQ(cache.seconds(one), 1);
  TimingCache folder_cache(folder.path());
  folder_cache.set_seconds(one, 1);
  EXPECT_NO_THROW(folder_cache.save());
}

} // namespace
} // namespace lanner
