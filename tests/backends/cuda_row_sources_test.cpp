// Generated sources of row kernels, run on the host and compared with their definitions in double. The GPU
// runs are in cuda_kernels_test.cpp.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda_sources.h"
#include "backends/movement/box_plan.h"
#include "backends/reduction/row_source.h"

namespace lanner::cuda {
namespace {

struct RowCase {
  RowKind kind;
  DType type;
  std::int64_t length, rows;
  std::int64_t gap = 0; ///< Elements between rows.
  RowNorm norm = {};
  std::int64_t off = 0;
  double special = 0; ///< The value of one element of the second row.
};

DenseRowParameters dense_of(const RowCase& c) {
  const std::int64_t step = c.length + c.gap;
  // Rows in pairs, so that there are two axes where there is a gap.
  const Box box = c.rows % 2 == 0 && c.gap > 0 ? Box{{c.rows / 2, 2}, {2 * step, step}, {2 * step, step}}
                                               : Box{{c.rows}, {step}, {step}};
  DenseRowParameters dense;
  dense.rows = *box_parameters(box);
  dense.length = c.length;
  return dense;
}

Doubles softmax_of(const Doubles& x, bool logarithm) {
  double most = -infinity, sum = 0;
  for (const double v : x) most = std::isnan(v) || v > most ? v : most;
  for (const double v : x) sum += std::exp(v - most);
  Doubles y;
  for (const double v : x) y.push_back(logarithm ? v - most - std::log(sum) : std::exp(v - most) / sum);
  return y;
}

Doubles norm_of(const Doubles& x, const RowCase& c, std::int64_t row, const Memory& scale,
                const Memory& bias) {
  const auto length = static_cast<double>(x.size());
  double mean = 0, variance = 0;
  for (const double v : x) mean += c.norm.centred ? v / length : 0;
  for (const double v : x) variance += (v - mean) * (v - mean) / length;
  Doubles y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t k =
        row % c.norm.repeat * (c.length / c.norm.shared) + static_cast<std::int64_t>(i) / c.norm.shared;
    y.push_back((x[i] - mean) / std::sqrt(variance + c.norm.epsilon) * scale.get(k) +
                (c.norm.bias ? bias.get(k) : 0));
  }
  return y;
}

void check_rows(const EmulatedKernels& kernels, std::size_t number, const HeldRows& held, const RowCase& c,
                std::mt19937& random) {
  const std::string name = fmt::format("kind {} {} [{}, {}] gap {} off {}", static_cast<int>(c.kind),
                                       to_string(c.type), c.rows, c.length, c.gap, c.off);
  const std::int64_t step = c.length + c.gap, elements = c.rows * step,
                     parameters = c.norm.repeat * (c.length / c.norm.shared);
  Memory x(c.type, elements, c.off), added(c.type, elements, c.off), y(c.type, elements, c.off),
      sum(c.type, elements, c.off), scale(c.type, parameters), bias(c.type, parameters);
  for (Memory* drawn : {&x, &added, &scale, &bias}) drawn->draw(random);
  if (c.special != 0) x.set(step * std::min<std::int64_t>(1, c.rows - 1) + c.length / 2, c.special);
  void* const pointers[] = {x.data(), added.data(), scale.data(), bias.data(), sum.data(), y.data()};
  const bool norms = c.kind == RowKind::normalization;
  const RowNorm& n = c.norm;
  std::vector<const void*> given{&pointers[0]};
  if (n.added) given.push_back(&pointers[1]);
  if (norms) given.push_back(&pointers[2]);
  if (n.bias) given.push_back(&pointers[3]);
  if (n.sum_is_read && n.sum_first) given.push_back(&pointers[4]);
  given.push_back(&pointers[5]);
  if (n.sum_is_read && !n.sum_first) given.push_back(&pointers[4]);
  long long rows = c.rows;
  given.push_back(&rows);
  std::vector<void*> arguments;
  for (const void* argument : given) arguments.push_back(const_cast<void*>(argument));
  ASSERT_TRUE(kernels.run(number, row_blocks(held), held.share.threads, arguments)) << name;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    Doubles values;
    for (std::int64_t i = 0; i < c.length; ++i) {
      const std::int64_t at = row * step + i;
      Memory one(c.type, 1);
      one.set(0, x.get(at) + (n.added ? added.get(at) : 0));
      values.push_back(one.get(0));
      if (n.sum_is_read) {
        EXPECT_EQ(sum.get(at), values.back()) << name << ": sum at " << at;
      }
    }
    const Doubles expected =
        norms ? norm_of(values, c, row, scale, bias) : softmax_of(values, c.kind == RowKind::log_softmax);
    for (std::int64_t i = 0; i < c.length; ++i)
      expect_near(y.get(row * step + i), expected[static_cast<std::size_t>(i)], c.type,
                  fmt::format("{}: row {} element {}", name, row, i));
    for (std::int64_t i = c.length; i < step; ++i) EXPECT_EQ(y.get(row * step + i), -77) << name << ": gap";
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(y.fences_stand() && sum.fences_stand()) << name;
}

class CudaRowSources : public CudaSources {
protected:
  void add_case(const RowCase& c) {
    const DenseRowParameters dense = dense_of(c);
    const auto share = row_share(dense, c.type);
    ASSERT_TRUE(share.has_value()) << c.length;
    const HeldRows held{c.kind, c.type, dense, c.norm, *share};
    add(row_source(held), "rows",
        [this, held, c](std::size_t number) { check_rows(kernels, number, held, c, random); });
  }
};

TEST_F(CudaRowSources, softmax_of_any_length_and_type) {
  int turn = 0;
  for (const std::int64_t length :
       {1, 2, 3, 7, 8, 9, 31, 32, 33, 48, 49, 64, 100, 128, 197, 256, 513, 1000, 2100}) {
    const RowKind kind = turn % 3 == 2 ? RowKind::log_softmax : RowKind::softmax;
    add_case({kind, types[turn++ % 3], length, 5 + length % 7});
    if (length < 40) add_case({kind, types[turn % 3], length, 300});
  }
  run_all();
}

TEST_F(CudaRowSources, normalization_of_any_length_and_type) {
  int turn = 0;
  for (const std::int64_t length : {1, 3, 8, 24, 49, 96, 100, 128, 192, 384, 768, 1024, 1536, 3072}) {
    RowNorm norm{.epsilon = 1e-5F, .centred = turn % 4 != 3, .bias = turn % 3 != 1};
    norm.added = turn % 2 == 1;
    norm.sum_is_read = norm.added && turn % 4 == 1;
    norm.sum_first = turn % 8 == 1;
    add_case({RowKind::normalization, types[turn++ % 3], length, 7, 0, norm});
  }
  run_all();
}

TEST_F(CudaRowSources, parameters_of_groups_and_channels) {
  const RowNorm norm{.epsilon = 1e-3F, .centred = true, .bias = true};
  RowNorm groups = norm, channels = norm, each = norm;
  groups.repeat = 3;
  groups.shared = 5;
  channels.repeat = 4;
  channels.shared = 64;
  each.repeat = 4;
  for (const DType type : types) {
    add_case({RowKind::normalization, type, 40, 9, 0, groups});
    add_case({RowKind::normalization, type, 64, 12, 0, channels});
    add_case({RowKind::normalization, type, 24, 12, 0, each});
  }
  run_all();
}

TEST_F(CudaRowSources, slices_of_larger_values_and_unaligned_addresses) {
  const RowNorm norm{.epsilon = 1e-5F, .centred = true, .added = true, .bias = true, .sum_is_read = true};
  for (const DType type : types)
    for (const std::int64_t gap : {0, 3, 8})
      for (const std::int64_t off : {0, 1}) {
        add_case({RowKind::softmax, type, 40, 6, gap, {}, off});
        add_case({RowKind::normalization, type, 32, 6, gap, norm, off});
      }
  run_all();
}

TEST_F(CudaRowSources, nan_and_infinity_stay_in_their_row) {
  const RowNorm norm{.epsilon = 1e-5F, .centred = true};
  for (const double special : {nan, infinity, -infinity})
    for (const std::int64_t length : {5, 64, 520}) {
      add_case({RowKind::softmax, DType::f16, length, 4, 0, {}, 0, special});
      add_case({RowKind::log_softmax, DType::f32, length, 4, 0, {}, 0, special});
      if (!std::isinf(special))
        add_case({RowKind::normalization, DType::bf16, length, 4, 0, norm, 0, special});
    }
  run_all();
}

TEST(CudaRowShare, long_rows_are_left_to_kernels_that_read_them_again) {
  DenseRowParameters dense;
  dense.rows = *box_parameters({{2}, {100'000}, {100'000}});
  dense.length = 100'000;
  EXPECT_FALSE(row_share(dense, DType::f16));
  dense.length = 0;
  EXPECT_FALSE(row_share(dense, DType::f16));
}

} // namespace
} // namespace lanner::cuda
