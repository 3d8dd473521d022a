// arg_max and arg_min against their definitions.

#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/reduction/arg_reduce.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

struct Searched {
  const char* input;
  int axis;
};
void PrintTo(const Searched& c, std::ostream* out) {
  *out << c.input << " along " << c.axis;
}

class Args : public testing::TestWithParam<Searched> {};

TEST_P(Args, agree_with_the_definition) {
  for (const char* kind : {"arg_max", "arg_min"})
    for (const int keep : {0, 1})
      for (const int last : {0, 1}) {
        const auto ran = check_tactics(
            fmt::format("graph @g(%x: f32{}) -> (%y: i64[*] as \"y\") {{\n"
                        "  %y: i64[*] = {}(%x) {{axis = {}, keepdims = {}, select_last_index = {}}}\n}}",
                        GetParam().input, kind, GetParam().axis, keep, last));
        EXPECT_TRUE(ran.contains("cpu/arg")) << kind;
      }
}

const Searched searches[] = {
    {"[1]", 0},        {"[7]", 0},           {"[1003]", -1},         {"[5, 300]", 1},
    {"[300, 5]", 0},   {"[2, 197, 65]", 1},  {"[2, 21, 40, 33]", 1}, {"[3, 4, 1, 5]", 2},
    {"[2, 3, 50]", 0}, {"[64, 2, 100]", -1}, {"[1, 20000]", 1},      {"[3, 130, 4]", -1},
};
INSTANTIATE_TEST_SUITE_P(cases, Args, testing::ValuesIn(searches));

std::vector<const ArgFunctions*> functions_of_this_cpu() {
  std::vector<const ArgFunctions*> list{&arg_functions_baseline()};
  if (cpu_features().has_avx2()) list.push_back(&arg_functions_avx2());
  if (cpu_features().has_avx512()) list.push_back(&arg_functions_avx512());
  return list;
}

/// The expected index, by the definition.
std::int64_t index_of(const std::vector<float>& numbers, std::int64_t column, std::int64_t inner, bool least,
                      bool last) {
  const auto length = static_cast<std::int64_t>(numbers.size()) / inner;
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < length; ++i) {
    const float x = numbers[static_cast<std::size_t>(i * inner + column)],
                leader = numbers[static_cast<std::size_t>(best * inner + column)];
    if ((least ? x < leader : x > leader) || (last && x == leader)) best = i;
  }
  return best;
}

// Few distinct values, so that most maxima are tied; some columns begin with NaN, some contain one.
TEST(ArgReduceLoops, handle_ties_nan_and_infinities_in_every_instruction_set) {
  std::mt19937 random(7);
  for (const ArgFunctions* functions : functions_of_this_cpu())
    for (const std::int64_t length : {1, 2, 3, 7, 16, 33, 64, 301})
      for (const std::int64_t inner : {1, 2, 8, 17, 64, 101})
        for (int turn = 0; turn < 4; ++turn) {
          std::vector<float> numbers(static_cast<std::size_t>(length * inner));
          for (float& value : numbers) {
            const auto drawn = static_cast<int>(random() % 40);
            value = drawn == 0               ? NAN
                    : drawn == 1             ? -INFINITY
                    : drawn == 2 && turn > 0 ? INFINITY
                                             : static_cast<float>(-(drawn % 5));
          }
          for (const bool least : {false, true})
            for (const bool last : {false, true}) {
              std::vector<std::int64_t> found(static_cast<std::size_t>(inner), -1);
              const std::int64_t middle = std::min<std::int64_t>(inner, functions->columns);
              const auto run = functions->run[least][last];
              run({numbers.data(), found.data(), length, inner, 0, middle});
              if (middle < inner) run({numbers.data(), found.data(), length, inner, middle, inner});
              for (std::int64_t column = 0; column < inner; ++column)
                EXPECT_EQ(found[static_cast<std::size_t>(column)],
                          index_of(numbers, column, inner, least, last))
                    << "column " << column << " of " << inner << ", " << length << " numbers";
            }
        }
}

} // namespace
} // namespace lanner
