// softmax and log_softmax over any axis.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "backends/reduction/softmax_columns.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

struct Case {
  const char* shape;
  int axis;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.shape << " axis " << c.axis;
}

class Softmax : public testing::TestWithParam<Case> {};

TEST_P(Softmax, agrees_with_the_definition) {
  for (const char* op : {"softmax", "log_softmax"})
    for (const char* type : {"f32", "f16", "bf16"}) {
      const auto ran = check_tactics(fmt::format(
          "graph @g(%x: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n%y: {0}[*] = {2}(%x) {{axis = {3}}}\n}}", type,
          GetParam().shape, op, GetParam().axis));
      EXPECT_TRUE(ran.contains("cpu/softmax")) << type << " " << op;
    }
  const auto ran = check_tactics(
      fmt::format(
          "graph @g(%x: f32{0}) -> (%y: f32[*] as \"y\") {{\n%y: f32[*] = softmax(%x) {{axis = {1}}}\n}}",
          GetParam().shape, GetParam().axis),
      storing_bf16());
  EXPECT_TRUE(ran.contains("cpu/softmax")) << "stored as bf16";
}

// The head of a detector, whose axis is in the middle; short and long lines; few columns.
const Case cases[] = {{"[1, 16, 4, 840]", 1}, {"[1, 4, 16, 840]", 2}, {"[3, 5, 7]", 1},
                      {"[2, 3, 17, 5]", 1},   {"[5, 300]", 0},        {"[9]", 0},
                      {"[4, 1, 3]", 1},       {"[2, 200, 3]", 1},     {"[2, 1, 1, 33]", -1},
                      {"[2, 24, 5, 5]", 1},   {"[2, 8, 5, 6]", 3}};
INSTANTIATE_TEST_SUITE_P(cases, Softmax, testing::ValuesIn(cases));

std::vector<const SoftmaxFunctions*> functions_of_this_cpu() {
  std::vector<const SoftmaxFunctions*> list{&softmax_functions_baseline()};
  if (cpu_features().has_avx2()) list.push_back(&softmax_functions_avx2());
  if (cpu_features().has_avx512()) list.push_back(&softmax_functions_avx512());
  return list;
}

/// For one column, in double.
std::vector<double> expected_of(const std::vector<float>& line, bool logarithm) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const float x : line) largest = std::isnan(x) || x > largest ? x : largest;
  for (const float x : line) sum += std::exp(x - largest);
  std::vector<double> result;
  for (const float x : line)
    result.push_back(logarithm ? x - largest - std::log(sum) : std::exp(x - largest) / sum);
  return result;
}

void expect_near(float got, double expected, const char* what) {
  if (std::isnan(expected) || std::isinf(expected))
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected) << what << " is " << got;
  else
    EXPECT_NEAR(got, expected, 2e-6 * std::max(1.0, std::abs(expected))) << what;
}

/// Columns of which some have a NaN, an infinity or only -inf.
std::vector<float> hard_columns(std::int64_t length, std::int64_t inner) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::mt19937 random(static_cast<unsigned>(length * 1000 + inner));
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> x(static_cast<std::size_t>(length * inner));
  for (float& value : x) value = normal(random);
  for (std::int64_t column = 0; column < inner; ++column) {
    const auto place = static_cast<std::size_t>(
        static_cast<std::int64_t>(random() % static_cast<unsigned>(length)) * inner + column);
    if (column % 6 == 1) x[place] = NAN;
    if (column % 6 == 2) x[place] = infinity;
    if (column % 6 == 3) x[place] = -infinity;
    if (column % 6 == 4)
      for (std::int64_t r = 0; r < length; ++r) x[static_cast<std::size_t>(r * inner + column)] = -infinity;
  }
  return x;
}

TEST(SoftmaxColumns, keep_nan_and_infinities_in_every_instruction_set) {
  for (const SoftmaxFunctions* functions : functions_of_this_cpu())
    for (const std::int64_t length : {1, 2, 5, 16, 67, 300})
      for (const std::int64_t inner : {1, 3, 8, 17, 64, 131}) {
        const std::vector<float> x = hard_columns(length, inner);
        for (const bool logarithm : {false, true}) {
          std::vector<float> y = x; // In place.
          (logarithm ? functions->columns_log
                     : functions->columns)({y.data(), y.data(), inner, inner, length, inner});
          for (std::int64_t column = 0; column < inner; ++column) {
            std::vector<float> line, row(static_cast<std::size_t>(length));
            for (std::int64_t r = 0; r < length; ++r)
              line.push_back(x[static_cast<std::size_t>(r * inner + column)]);
            (logarithm ? functions->row_log : functions->row)({line.data(), row.data(), length});
            const std::vector<double> expected = expected_of(line, logarithm);
            for (std::size_t r = 0; r < line.size(); ++r) {
              expect_near(y[r * static_cast<std::size_t>(inner) + static_cast<std::size_t>(column)],
                          expected[r], "of a column");
              expect_near(row[r], expected[r], "of a row");
            }
          }
        }
      }
}

} // namespace
} // namespace lanner
