// Replays every corpus input: those that fuzzers found useful, and those that once triggered a fault.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/targets.h"
#include "source_dir.h"

namespace lanner::fuzz {
namespace {

class Corpus : public testing::TestWithParam<Target> {};

TEST_P(Corpus, InputGivesAnAnswerOrAnError) {
  const std::filesystem::path folder = test::source_dir() / "tests/fuzz/corpus" / GetParam().name;
  std::size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NO_THROW(run(GetParam().name, std::as_bytes(std::span(bytes))));
    ++inputs;
  }
  EXPECT_GT(inputs, 0);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

} // namespace
} // namespace lanner::fuzz
