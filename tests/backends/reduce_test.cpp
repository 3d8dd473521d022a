#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "backends/reduction/folds.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

std::set<std::string> run_reduction(const std::string& input, const std::string& call,
                                    const std::string& axes = {}, double tolerance = 2e-5) {
  const std::string constants = axes.empty() ? ""
                                             : fmt::format("%a: {} = constant() {{value = {}}}\n",
                                                           axes.substr(0, axes.find('(')), axes);
  return check_tactics(fmt::format("graph @g(%x: f32{}) -> (%y: f32[*] as \"y\") {{\n{}%y: f32[*] = {}\n}}",
                                   input, constants, call),
                       {.tolerance = tolerance});
}

struct Reduced {
  std::string input, axes;
};
void PrintTo(const Reduced& c, std::ostream* out) {
  *out << c.input << " along " << c.axes;
}

class Reductions : public testing::TestWithParam<Reduced> {};

TEST_P(Reductions, agree_with_the_reference) {
  for (const char* kind : {"reduce_sum", "reduce_mean", "reduce_l1", "reduce_l2", "reduce_sum_square",
                           "reduce_max", "reduce_min", "reduce_log_sum_exp"})
    for (const char* keep : {"0", "1"}) {
      const auto ran = run_reduction(
          GetParam().input, fmt::format("{}(%x, %a) {{keepdims = {}}}", kind, keep), GetParam().axes);
      EXPECT_TRUE(ran.contains("cpu/reduce")) << kind;
    }
}

const Reduced reductions[] = {
    {"[7]", "i64[1](0)"},
    {"[1000003]", "i64[1](0)"},
    {"[5, 300]", "i64[1](-1)"},
    {"[300, 5]", "i64[1](0)"},
    {"[2, 197, 65]", "i64[1](1)"},
    {"[3, 4, 5, 131]", "i64[2](0, 1)"},
    {"[2, 24, 9, 7]", "i64[2](2, 3)"},
    {"[2, 5, 9, 7]", "i64[1](1)"},
    {"[2, 3, 1, 7, 1]", "i64[2](1, 3)"},
    {"[2, 3, 4, 5, 6]", "i64[3](2, 3, 4)"},
    {"[1, 1, 1]", "i64[1](1)"},
};
INSTANTIATE_TEST_SUITE_P(cases, Reductions, testing::ValuesIn(reductions));

TEST(Reduce, logarithms_of_sums) {
  for (const char* call : {"reduce_log_sum(%x, %a)", "reduce_log_sum(%x, %a) {keepdims = 0}"}) {
    const auto ran = check_tactics(fmt::format("graph @g(%v: f32[5, 300]) -> (%y: f32[*] as \"y\") {{\n"
                                               "%x: f32[5, 300] = sigmoid(%v)\n"
                                               "%a: i64[1] = constant() {{value = i64[1](1)}}\n"
                                               "%y: f32[*] = {}\n}}",
                                               call),
                                   {});
    EXPECT_TRUE(ran.contains("cpu/reduce"));
  }
}

TEST(Reduce, rejects_kept_axes_between_reduced_ones) {
  EXPECT_FALSE(run_reduction("[4, 5, 6, 7]", "reduce_sum(%x, %a)", "i64[2](0, 3)").contains("cpu/reduce"));
}

TEST(Reduce, pools_in_every_layout) {
  for (const char* input : {"[2, 3, 5, 5]", "[1, 72, 7, 9]", "[3, 130, 4]", "[2, 17, 3, 4, 5]"})
    for (const char* kind : {"global_average_pool", "global_max_pool"})
      EXPECT_TRUE(run_reduction(input, fmt::format("{}(%x)", kind)).contains("cpu/reduce")) << input;
}

TEST(Reduce, in_every_layout_along_channels_and_pixels) {
  for (const char* axes : {"i64[1](1)", "i64[2](2, 3)"})
    for (const char* kind : {"reduce_l1", "reduce_l2", "reduce_sum_square", "reduce_max", "reduce_min"})
      EXPECT_TRUE(
          run_reduction("[2, 19, 5, 3]", fmt::format("{}(%x, %a)", kind), axes).contains("cpu/reduce"));
}

// A single chain of 12,544 additions is off by several millionths.
TEST(Reduce, long_sums_are_accurate) {
  const auto ran = run_reduction("[2, 72, 112, 112]", "global_average_pool(%x)", {}, 1e-6);
  EXPECT_TRUE(ran.contains("cpu/reduce"));
  expect_refused(ran, {"onednn/pool"});
}

std::vector<const FoldFunctions*> folds_of_this_cpu() {
  std::vector<const FoldFunctions*> list{&fold_functions_baseline()};
  if (cpu_features().has_avx2()) list.push_back(&fold_functions_avx2());
  if (cpu_features().has_avx512()) list.push_back(&fold_functions_avx512());
  return list;
}

/// Random columns; of every five, one has a NaN, one has an infinity, one has both infinities.
std::vector<float> hard_numbers(std::int64_t length, std::int64_t inner) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::mt19937 random(static_cast<unsigned>(length * 1000 + inner));
  std::vector<float> numbers(static_cast<std::size_t>(length * inner));
  for (std::int64_t i = 0; i < length * inner; ++i) {
    const std::int64_t column = i % inner;
    const float sign = column % 2 ? 1.0F : -1.0F;
    numbers[static_cast<std::size_t>(i)] =
        column % 5 == 3 ? sign * infinity : std::normal_distribution<float>(sign * 3)(random);
  }
  const auto put = [&](std::int64_t column, float value) {
    numbers[static_cast<std::size_t>(
        static_cast<std::int64_t>(random() % static_cast<unsigned>(length)) * inner + column)] = value;
  };
  for (std::int64_t column = 0; column < inner; ++column) {
    if (column % 5 == 4) {
      put(column, infinity);
      put(column, -infinity);
    }
    if (column % 5 == 2) put(column, NAN);
  }
  return numbers;
}

/// Sums are computed in double.
float norm_of(const std::vector<float>& numbers, std::int64_t column, std::int64_t inner, bool squares) {
  double sum = 0;
  for (auto i = static_cast<std::size_t>(column); i < numbers.size(); i += static_cast<std::size_t>(inner)) {
    const double x = numbers[i];
    sum += squares ? x * x : std::abs(x);
  }
  return static_cast<float>(squares ? std::sqrt(sum) : sum);
}

// Squares of 1e30 and 1e-30 do not fit a float, their norms do.
TEST(Folds, norms_of_numbers_of_any_size_in_every_instruction_set) {
  for (const FoldFunctions* functions : folds_of_this_cpu())
    for (const std::int64_t length : {1, 2, 3, 7, 16, 33, 64, 517, 1031})
      for (const std::int64_t inner : {1, 2, 8, 15, 17, 64, 101})
        for (const float scale : {1.0F, 1e30F, 1e-30F}) {
          SCOPED_TRACE(fmt::format("{} columns, {} by {}", functions->columns, length, inner));
          std::vector<float> numbers = hard_numbers(length, inner);
          for (float& number : numbers) number *= scale;
          for (const bool squares : {false, true}) {
            std::vector<float> found(static_cast<std::size_t>(inner));
            const auto run = squares ? functions->length : functions->magnitudes;
            run({numbers.data(), found.data(), length, inner, 0, inner, 1});
            for (std::int64_t column = 0; column < inner; ++column) {
              const float expected = norm_of(numbers, column, inner, squares),
                          got = found[static_cast<std::size_t>(column)];
              EXPECT_TRUE(got == expected || std::abs(got - expected) <= 4e-7F * expected ||
                          (std::isnan(got) && std::isnan(expected)))
                  << "column " << column << " is " << got << ", expected " << expected;
            }
          }
        }
}

TEST(Reduce, norm_is_finite_where_squares_overflow) {
  EXPECT_TRUE(check_tactics("graph @g(%r: f32[5, 37, 6]) -> (%y: f32[*] as \"y\") {\n"
                            "%c: f32[] = constant() {value = f32[](1e30)}\n"
                            "%a: i64[1] = constant() {value = i64[1](1)}\n"
                            "%x: f32[*] = mul(%r, %c)\n%y: f32[*] = reduce_l2(%x, %a)\n}")
                  .contains("cpu/reduce"));
}

/// As in the definition of reduce_max and reduce_min.
float folded(const std::vector<float>& numbers, std::int64_t column, std::int64_t inner, float sign) {
  float most = -std::numeric_limits<float>::infinity();
  for (auto i = static_cast<std::size_t>(column); i < numbers.size(); i += static_cast<std::size_t>(inner)) {
    const float x = sign * numbers[i];
    most = x > most || std::isnan(x) ? x : most;
  }
  return sign * most;
}

TEST(Folds, keep_nan_and_infinities_in_every_instruction_set) {
  for (const FoldFunctions* functions : folds_of_this_cpu())
    for (const std::int64_t length : {1, 2, 3, 7, 8, 9, 33, 64, 517, 1031})
      for (const std::int64_t inner : {1, 2, 3, 8, 15, 17, 37, 64, 101}) {
        SCOPED_TRACE(fmt::format("{} columns, {} by {}", functions->columns, length, inner));
        const std::vector<float> numbers = hard_numbers(length, inner);
        for (const float sign : {1.0F, -1.0F}) {
          std::vector<float> found(static_cast<std::size_t>(inner), 123);
          const std::int64_t middle = inner > functions->columns ? functions->columns : inner;
          const auto run = sign > 0 ? functions->max : functions->min;
          run({numbers.data(), found.data(), length, inner, 0, middle, 0});
          if (middle < inner) run({numbers.data(), found.data(), length, inner, middle, inner, 0});
          for (std::int64_t column = 0; column < inner; ++column) {
            const float expected = folded(numbers, column, inner, sign),
                        got = found[static_cast<std::size_t>(column)];
            EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected)))
                << "column " << column << " is " << got << ", expected " << expected;
          }
        }
      }
}

/// As in the definition of reduce_log_sum_exp.
float log_sum_exp(const std::vector<float>& numbers, std::int64_t column, std::int64_t inner) {
  const double most = folded(numbers, column, inner, 1);
  if (std::isinf(most)) return static_cast<float>(most);
  double sum = 0;
  for (auto i = static_cast<std::size_t>(column); i < numbers.size(); i += static_cast<std::size_t>(inner))
    sum += std::exp(numbers[i] - most);
  return static_cast<float>(most + std::log(sum));
}

TEST(Folds, logarithms_of_sums_of_powers_in_every_instruction_set) {
  for (const FoldFunctions* functions : folds_of_this_cpu())
    for (const std::int64_t length : {1, 2, 7, 64, 517})
      for (const std::int64_t inner : {1, 2, 5, 17, 64, 101})
        for (const float scale : {1.0F, 1e30F}) {
          SCOPED_TRACE(fmt::format("{} columns, {} by {}", functions->columns, length, inner));
          std::vector<float> numbers = hard_numbers(length, inner);
          for (float& number : numbers) number *= scale;
          std::vector<float> found(static_cast<std::size_t>(inner));
          functions->log_sum_exp({numbers.data(), found.data(), length, inner, 0, inner, 1});
          for (std::int64_t column = 0; column < inner; ++column) {
            const float expected = log_sum_exp(numbers, column, inner),
                        got = found[static_cast<std::size_t>(column)];
            EXPECT_TRUE(got == expected ||
                        std::abs(got - expected) <= 1e-6F * std::max(1.0F, std::abs(expected)) ||
                        (std::isnan(got) && std::isnan(expected)))
                << "column " << column << " is " << got << ", expected " << expected;
          }
        }
}

// One NaN in a row of contiguous numbers, at each position.
TEST(Folds, find_a_nan_at_every_position) {
  for (const FoldFunctions* functions : folds_of_this_cpu())
    for (const std::int64_t length : {1, 5, 16, 67, 300})
      for (std::int64_t place = 0; place < length; ++place) {
        std::vector<float> numbers(static_cast<std::size_t>(length), 1);
        numbers[static_cast<std::size_t>(place)] = NAN;
        for (const auto run : {functions->max, functions->min}) {
          float found = 0;
          run({numbers.data(), &found, length, 1, 0, 1, 0});
          EXPECT_TRUE(std::isnan(found)) << place << " of " << length;
        }
      }
}

TEST(Folds, of_infinities_alone_are_infinite) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const FoldFunctions* functions : folds_of_this_cpu())
    for (const float value : {infinity, -infinity})
      for (const std::int64_t length : {1, 3, 40}) {
        const std::vector<float> numbers(static_cast<std::size_t>(length), value);
        float most = 0, least = 0;
        functions->max({numbers.data(), &most, length, 1, 0, 1, 0});
        functions->min({numbers.data(), &least, length, 1, 0, 1, 0});
        EXPECT_EQ(most, value);
        EXPECT_EQ(least, value);
      }
}

} // namespace
} // namespace lanner
