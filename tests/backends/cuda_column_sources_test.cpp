// Generated sources of column reductions and pools, run on the host and compared with their definitions in
// double; numbers that any generated source stores as integers.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/tensor.h>

#include "backends/cuda/source_text.h"
#include "backends/cuda_sources.h"
#include "backends/movement/box_plan.h"
#include "backends/pooling/pool_source.h"
#include "backends/reduction/column_source.h"

namespace lanner::cuda {
namespace {

struct ColumnCase {
  const char* reduction;
  DType type;
  std::int64_t sets, length, columns;
  std::int64_t gap = 0; ///< Unrelated elements after a set's columns.
  int multiprocessors = 4;
  std::int64_t off = 0;
  double special = 0; ///< The value of one element of column 1.
};

double reduced(const std::string& name, const Doubles& x) {
  double sum = 0, l1 = 0, squares = 0, most = -infinity, least = infinity;
  for (const double v : x) {
    sum += v;
    l1 += std::abs(v);
    squares += v * v;
    most = std::isnan(v) || v > most ? v : most;
    least = std::isnan(v) || v < least ? v : least;
  }
  return name == "reduce_sum"          ? sum
         : name == "reduce_mean"       ? sum / static_cast<double>(x.size())
         : name == "reduce_l1"         ? l1
         : name == "reduce_l2"         ? std::sqrt(squares)
         : name == "reduce_sum_square" ? squares
         : name == "reduce_max"        ? most
                                       : least;
}

Columns columns_of(const ColumnCase& c) {
  const std::int64_t step = c.columns + c.gap;
  Columns columns{c.reduction, c.type, {}, {}};
  columns.dense.outer = *box_parameters({{c.sets}, {c.length * step}, {c.columns}});
  columns.dense.length = c.length;
  columns.dense.step = step;
  columns.dense.columns = c.columns;
  columns.dense.target_step = 1;
  columns.share = column_share(columns.dense, c.type, c.multiprocessors).value();
  return columns;
}

void check_columns(const EmulatedKernels& kernels, std::size_t first, std::size_t second,
                   const Columns& columns, const ColumnCase& c, std::mt19937& random) {
  const std::string name = fmt::format("{} {} [{}, {}, {}] gap {} parts {}", c.reduction, to_string(c.type),
                                       c.sets, c.length, c.columns, c.gap, columns.share.parts);
  const std::int64_t step = c.columns + c.gap;
  Memory x(c.type, c.sets * c.length * step, c.off), y(c.type, c.sets * c.columns);
  x.draw(random);
  if (c.special != 0) x.set(c.length / 2 * step + 1, c.special);
  std::vector<double> workspace(column_workspace(columns) / sizeof(double) + 2, nan);
  workspace.back() = 77;
  void *source = x.data(), *parts = workspace.data(), *result = y.data();
  const bool apart = columns.share.parts > 1;
  ASSERT_TRUE(
      kernels.run(first, column_blocks(columns), columns.share.threads, {&source, apart ? &parts : &result}))
      << name;
  if (apart) {
    ASSERT_TRUE(kernels.run(second, join_blocks(columns), columns.share.threads, {&parts, &result})) << name;
    EXPECT_EQ(workspace.back(), 77) << name;
  }
  for (std::int64_t set = 0; set < c.sets; ++set)
    for (std::int64_t column = 0; column < c.columns; ++column) {
      Doubles values;
      for (std::int64_t i = 0; i < c.length; ++i)
        values.push_back(x.get((set * c.length + i) * step + column));
      expect_near(y.get(set * c.columns + column), reduced(c.reduction, values), c.type,
                  fmt::format("{}: set {} column {}", name, set, column));
      if (testing::Test::HasFailure()) return;
    }
  EXPECT_TRUE(y.fences_stand()) << name;
}

class CudaColumnSources : public CudaSources {
protected:
  void add_case(const ColumnCase& c) {
    const Columns columns = columns_of(c);
    const std::string source = column_source(columns);
    const std::size_t second = columns.share.parts > 1 ? add(source, "join_parts", nullptr) : 0;
    add(source, "columns", [this, columns, c, second](std::size_t first) {
      check_columns(kernels, first, second, columns, c, random);
    });
    several_ |= columns.share.parts > 1;
  }
  bool several_ = false;
};

TEST_F(CudaColumnSources, every_reduction_of_any_number_of_columns) {
  const char* const names[] = {"reduce_sum",        "reduce_mean", "reduce_l1", "reduce_l2",
                               "reduce_sum_square", "reduce_max",  "reduce_min"};
  int turn = 0;
  for (const std::int64_t columns : {2, 3, 8, 20, 24, 49, 96, 144, 600})
    for (const std::int64_t length : {1, 49}) {
      add_case({names[turn % 7], types[turn % 3], 2, length, columns, 0, 1});
      ++turn;
    }
  run_all();
}

TEST_F(CudaColumnSources, parts_of_long_rows_are_joined) {
  const char* const names[] = {"reduce_mean", "reduce_l2", "reduce_max", "reduce_min", "reduce_sum"};
  int turn = 0;
  for (const std::int64_t columns : {8, 40, 49, 96})
    for (const std::int64_t length : {3000, 1571}) {
      add_case({names[turn % 5], types[turn % 3], 1 + turn % 2, length, columns, turn % 4 == 3 ? 5 : 0, 8});
      ++turn;
    }
  EXPECT_TRUE(several_);
  run_all();
}

TEST_F(CudaColumnSources, slices_of_larger_values_and_nan) {
  for (const DType type : types) {
    add_case({"reduce_mean", type, 3, 20, 16, 8, 1});
    add_case({"reduce_mean", type, 3, 20, 16, 3, 1});
    add_case({"reduce_sum", type, 3, 20, 16, 0, 1, 1});
    for (const char* name : {"reduce_max", "reduce_min", "reduce_mean"})
      add_case({name, type, 2, 900, 16, 0, 8, 0, nan});
    add_case({"reduce_max", type, 2, 900, 16, 0, 8, 0, infinity});
  }
  run_all();
}

class CudaPoolSources : public CudaSources {
protected:
  /// `size`, `kernel`, ... give depth, height, width.
  struct Case {
    bool is_max;
    DType type;
    std::int64_t channels;
    int size[3], kernel[3], strides[3], dilations[3], begin[3], end[3];
    bool count_padding = false;
    std::int64_t off = 0;
    double special = 0;
  };
  static Pool pool_of(const Case& c) {
    Pool pool{c.is_max, c.type, {}, 1};
    PoolParameters& p = pool.window;
    p.batch = 2;
    p.channels = c.channels;
    p.count_padding = c.count_padding;
    p.channels_innermost = true;
    p.source[1] = p.target[1] = 1;
    std::int64_t source = c.channels, target = c.channels;
    for (int i = 2; i >= 0; --i) {
      p.image[i] = c.size[i];
      p.kernel[i] = c.kernel[i];
      p.strides[i] = c.strides[i];
      p.dilations[i] = c.dilations[i];
      p.begin[i] = c.begin[i];
      p.end[i] = c.end[i];
      p.positions[i] =
          (c.size[i] + c.begin[i] + c.end[i] - (c.kernel[i] - 1) * c.dilations[i] - 1) / c.strides[i] + 1;
      p.source[2 + i] = source;
      p.target[2 + i] = target;
      source *= p.image[i];
      target *= p.positions[i];
    }
    p.source[0] = source;
    p.target[0] = target;
    pool.pack = pool_pack(p, c.type).value();
    return pool;
  }
  static double expected(const Case& c, const PoolParameters& p, const Memory& x, std::int64_t image,
                         const int (&at)[3], std::int64_t channel) {
    double best = -infinity, sum = 0;
    int count = 0;
    for (int a = 0; a < p.kernel[0]; ++a)
      for (int b = 0; b < p.kernel[1]; ++b)
        for (int d = 0; d < p.kernel[2]; ++d) {
          const int tap[3] = {a, b, d};
          bool inside = true, padded = true;
          std::int64_t offset = image * p.source[0] + channel;
          for (int i = 0; i < 3; ++i) {
            const int place = at[i] * p.strides[i] - p.begin[i] + tap[i] * p.dilations[i];
            inside &= place >= 0 && place < p.image[i];
            padded &= place < p.image[i] + p.end[i];
            offset += place * p.source[2 + i];
          }
          count += c.count_padding ? padded : inside;
          if (!inside) continue;
          const double value = x.get(offset);
          best = std::isnan(value) || value > best ? value : best;
          sum += value;
        }
    return c.is_max ? best : sum / count;
  }
  void check(std::size_t number, const Pool& pool, const Case& c) {
    const PoolParameters& p = pool.window;
    const std::string name = fmt::format("max {} {} channels {} kernel {}x{}x{}", c.is_max, to_string(c.type),
                                         c.channels, c.kernel[0], c.kernel[1], c.kernel[2]);
    Memory x(c.type, p.batch * p.source[0], c.off), y(c.type, p.batch * p.target[0], c.off);
    x.draw(random);
    if (c.special != 0) x.set(p.source[0] / 2, c.special);
    void *source = x.data(), *target = y.data();
    ASSERT_TRUE(kernels.run(number, (pool_threads(pool) + 255) / 256, 256, {&source, &target})) << name;
    std::int64_t result = 0;
    for (std::int64_t image = 0; image < p.batch; ++image)
      for (int z = 0; z < p.positions[0]; ++z)
        for (int h = 0; h < p.positions[1]; ++h)
          for (int w = 0; w < p.positions[2]; ++w)
            for (std::int64_t channel = 0; channel < p.channels; ++channel, ++result)
              expect_near(y.get(result), expected(c, p, x, image, {z, h, w}, channel), c.type,
                          fmt::format("{}: result {}", name, result));
    EXPECT_TRUE(y.fences_stand()) << name;
  }
  void add_case(const Case& c) {
    const Pool pool = pool_of(c);
    add(pool_source(pool), "pool", [this, pool, c](std::size_t number) { check(number, pool, c); });
  }
};

TEST_F(CudaPoolSources, windows_strides_dilations_and_padding) {
  for (const bool is_max : {true, false})
    for (const DType type : types) {
      add_case({is_max, type, 16, {1, 9, 7}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}});
      add_case({is_max, type, 6, {1, 8, 9}, {1, 2, 3}, {1, 1, 2}, {1, 2, 1}, {0, 1, 0}, {0, 0, 2}, true});
      add_case({is_max, type, 9, {3, 4, 5}, {2, 2, 3}, {1, 1, 1}, {1, 1, 2}, {1, 0, 0}, {0, 1, 2}, false, 1});
    }
  add_case({true, DType::f16, 8, {1, 20, 40}, {1, 13, 21}, {1, 3, 3}, {1, 1, 1}, {0, 6, 10}, {0, 6, 10}});
  add_case({true, DType::f16, 8, {1, 6, 6}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, false, 1});
  for (const double special : {nan, infinity, -infinity})
    add_case({true,
              DType::bf16,
              8,
              {1, 6, 6},
              {1, 3, 3},
              {1, 1, 1},
              {1, 1, 1},
              {0, 1, 1},
              {0, 1, 1},
              false,
              0,
              special});
  run_all();
}

TEST(CudaPoolPack, non_contiguous_channels_have_none) {
  PoolParameters p;
  p.channels = 8;
  p.source[1] = 1;
  p.target[1] = 9;
  EXPECT_FALSE(pool_pack(p, DType::f16));
}

class CudaStore : public CudaSources {};

TEST_F(CudaStore, IntegersAreThoseOfACopiedTensor) {
  const std::vector<float> values{0,
                                  -1,
                                  -1.5F,
                                  127.9F,
                                  200,
                                  256,
                                  70000,
                                  1e10F,
                                  -1e10F,
                                  1e20F,
                                  -1e20F,
                                  static_cast<float>(infinity),
                                  static_cast<float>(-infinity),
                                  static_cast<float>(nan)};
  const auto count = static_cast<std::int64_t>(values.size());
  const Tensor from = Tensor::from<float>(values, {count});
  for (const DType type :
       {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64}) {
    const std::string source =
        fmt::format("{0}extern \"C\" __global__ void stored(const float* x, {1}* y) {{\n"
                    "  y[threadIdx.x] = Store<{1}>::of(x[threadIdx.x]);\n}}\n",
                    prelude(), type_name(type));
    add(source, "stored", [&, type](std::size_t kernel) {
      Tensor want = Tensor::allocate(type, {count}), got = Tensor::zeros(type, {count});
      copy_tensor(from, want);
      void *x = const_cast<void*>(from.data()), *y = got.data();
      std::vector<void*> arguments{&x, &y};
      ASSERT_TRUE(kernels.run(kernel, 1, static_cast<int>(count), arguments));
      EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << to_string(type);
    });
  }
  run_all();
}

} // namespace
} // namespace lanner::cuda
