// Generated sources of products and convolutions of bytes, run on the host and compared with their definition
// in integers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda_sources.h"
#include "backends/product/matrix_source.h"
#include "backends/product/matrix_tiles.h"

namespace lanner::cuda {
namespace {

/// Of warps, of groups of warps, with tensor maps.
constexpr const char* tile_names[] = {"64x64x64s4",   "128x64x32s4",   "64x128x64s3",
                                      "64x64x64s3g",  "128x48x64s3g",  "128x64x64s3g",
                                      "64x128x64s7a", "128x128x64s5t", "64x256x64s4a"};

/// A problem in bytes, from which that in pairs is made.
struct Bytes {
  std::int64_t rows = 0, columns = 0, depth = 0, groups = 1;
  std::optional<MatrixWindow> window = std::nullopt;
  DType a = DType::u8, b = DType::i8;
  int zero = 0;
  bool zero_by_run = false;
  DType result = DType::i8; ///< i32: the sums.
  std::int64_t gap = 0;     ///< Between the result's rows.
  std::int64_t split = 1;
};

constexpr ByteScale result_scale{0.9F, 3};

MatrixProblem problem_of(const Bytes& c) {
  MatrixProblem p;
  p.type = c.a;
  p.bytes = MatrixBytes{c.b, c.window ? c.zero : 0, {}, false};
  if (c.zero_by_run) p.bytes->zero_type = c.a;
  p.bytes->corrected = c.result == DType::i32 && !c.zero_by_run && c.zero != 0;
  p.result = c.result;
  p.rows = c.rows;
  p.columns = c.columns;
  p.depth = c.depth / 2;
  p.batch = c.groups;
  p.side_by_side = c.groups > 1;
  p.a = {c.groups * p.depth, false, c.groups > 1 ? p.depth : 0};
  p.b = {p.depth, true, c.groups > 1 ? p.columns * p.depth : 0};
  p.leading = c.columns * c.groups + c.gap;
  if (c.window) {
    p.window = c.window;
    p.window->channels /= 2;
    p.window->pixel /= 2;
    p.a.step = c.groups > 1 ? p.window->channels : 0;
  }
  if (c.result == DType::i32) return p;
  MatrixOperand other{DType::i8, Spread::full, c.columns * c.groups, ByteScale{0.4F, -5}};
  p.steps.push_back({&formula("sub"), {}, other, true});
  p.steps.push_back({&formula("relu"), {}, {}});
  MatrixStep rounds{nullptr, {}, {}};
  rounds.rounding = ByteRounding{DType::u8, {0.31F, 7}};
  p.steps.push_back(rounds);
  if (c.result == DType::i8) p.rounding = ByteRounding{c.result, result_scale};
  return p;
}

Bytes convolution(std::int64_t images, MatrixWindow w, std::int64_t columns, std::int64_t groups = 1) {
  Bytes c;
  for (int i = 0; i < 2; ++i)
    w.result[i] = (w.image[i] + 2 * w.begin[i] - (w.kernel[i] - 1) * w.dilations[i] - 1) / w.strides[i] + 1;
  w.pixel = w.channels * groups;
  c.rows = images * w.result[0] * w.result[1];
  c.columns = columns;
  c.groups = groups;
  c.depth = w.kernel[0] * w.kernel[1] * w.channels;
  c.window = w;
  return c;
}

std::vector<unsigned char> drawn(std::int64_t count, std::mt19937& random) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count) + 32);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
  return bytes;
}
/// The first address in it that is aligned to 16 bytes.
unsigned char* aligned(std::vector<unsigned char>& bytes) {
  return bytes.data() + (16 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 16) % 16;
}
int number_of(unsigned char byte, DType type) {
  return type == DType::i8 ? static_cast<signed char>(byte) : static_cast<int>(byte);
}
double rounded(double x, const ByteScale& by, double least) {
  return std::clamp(std::nearbyint(x / static_cast<double>(by.scale)) + by.zero, least, least + 255);
}

/// The operands and the result of a case.
struct Data {
  const Bytes& c;
  std::vector<unsigned char> a, b, other;
  std::vector<float> scales, bias, offsets; ///< Offsets: the bias, less what the zero point adds.
  std::vector<std::int32_t> sums_of_b, corrections;

  Data(const Bytes& given, std::mt19937& random)
      : c(given), a(drawn(elements_of_a(), random)), b(drawn(c.columns * c.groups * c.depth, random)),
        other(drawn(c.rows * c.columns * c.groups, random)) {
    std::uniform_real_distribution<float> near(0.5F, 1.5F);
    for (std::int64_t i = 0; i < c.columns * c.groups; ++i) {
      scales.push_back(near(random) * 0.00034F);
      bias.push_back((near(random) - 1) * 20);
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < c.depth; ++k) sum += number_of(aligned(b)[i * c.depth + k], c.b);
      sums_of_b.push_back(sum);
      corrections.push_back(sum * c.zero);
      const auto of_zero =
          static_cast<double>(c.zero_by_run ? 0 : corrections.back()) * static_cast<double>(scales.back());
      offsets.push_back(static_cast<float>(static_cast<double>(bias.back()) - of_zero));
    }
  }

  std::int64_t elements_of_a() const {
    if (!c.window) return c.rows * c.depth * c.groups;
    const MatrixWindow& w = *c.window;
    return c.rows / (w.result[0] * w.result[1]) * w.image[0] * w.image[1] * w.pixel;
  }

  int a_at(std::int64_t group, std::int64_t row, std::int64_t k) {
    if (!c.window) return number_of(aligned(a)[(row * c.groups + group) * c.depth + k], c.a);
    const MatrixWindow& w = *c.window;
    const std::int64_t positions = w.result[0] * w.result[1], image = row / positions, tap = k / w.channels;
    const std::int64_t y =
        row % positions / w.result[1] * w.strides[0] - w.begin[0] + tap / w.kernel[1] * w.dilations[0];
    const std::int64_t x = row % w.result[1] * w.strides[1] - w.begin[1] + tap % w.kernel[1] * w.dilations[1];
    if (y < 0 || y >= w.image[0] || x < 0 || x >= w.image[1]) return c.zero;
    return number_of(
        aligned(
            a)[((image * w.image[0] + y) * w.image[1] + x) * w.pixel + group * w.channels + k % w.channels],
        c.a);
  }

  std::int64_t sum(std::int64_t row, std::int64_t column) {
    std::int64_t result = 0;
    for (std::int64_t k = 0; k < c.depth; ++k)
      result += std::int64_t{a_at(column / c.columns, row, k) - c.zero} *
                number_of(aligned(b)[column * c.depth + k], c.b);
    return result;
  }

  /// What is stored, before the last rounding.
  double expected(std::int64_t row, std::int64_t column) {
    const auto i = static_cast<std::size_t>(column);
    double r =
        static_cast<double>(sum(row, column)) * static_cast<double>(scales[i]) + static_cast<double>(bias[i]);
    const int byte = number_of(aligned(other)[row * c.columns * c.groups + column], DType::i8);
    r = (byte + 5) * static_cast<double>(0.4F) - r;
    const ByteScale by{0.31F, 7};
    return (rounded(std::max(r, 0.0), by, 0) - by.zero) * static_cast<double>(by.scale);
  }
};

class CudaByteProducts : public CudaSources {
protected:
  /// With each tile that takes it.
  void add_case(const Bytes& c) {
    const MatrixProblem p = problem_of(c);
    for (const char* name : tile_names) {
      const auto tile = matrix_tile(name);
      ASSERT_TRUE(tile) << name;
      const MatrixPlan plan{p, *tile, std::min(c.split, (p.depth + tile->depth - 1) / tile->depth)};
      if (!runs_on(plan, 90)) continue;
      const std::string source = matrix_source(plan);
      const std::size_t second = plan.split > 1 ? add(source, "join_sums", nullptr) : 0;
      add(source, "matrix", [this, c, plan, second](std::size_t first) { check(first, second, c, plan); });
    }
  }

private:
  void check(std::size_t first, std::size_t second, const Bytes& c, const MatrixPlan& plan) {
    SCOPED_TRACE(fmt::format("{} {} x {} x {} split {} {} {} {}", plan.tile.name(), c.rows, c.columns,
                             c.depth, plan.split, to_string(c.a), to_string(c.b), c.window ? "window" : ""));
    Data data(c, random);
    const std::int64_t size = c.rows * plan.problem.leading;
    std::vector<std::int32_t> out(static_cast<std::size_t>(size) + 16, 77 << 16 | 77);
    run(first, second, plan, data, out.data());
    if (HasFatalFailure()) return;
    for (std::int64_t row = 0; row < c.rows && !HasFailure(); ++row)
      for (std::int64_t column = 0; column < c.columns * c.groups; ++column)
        compare(data, plan, out.data(), row, column);
    EXPECT_EQ(out.back(), 77 << 16 | 77);
  }

  static void compare(Data& data, const MatrixPlan& plan, const std::int32_t* out, std::int64_t row,
                      std::int64_t column) {
    const std::int64_t at = row * plan.problem.leading + column;
    const std::string where = fmt::format("{}, {}", row, column);
    if (data.c.result == DType::i32) {
      EXPECT_EQ(out[at], data.sum(row, column)) << where;
    } else if (data.c.result == DType::f32) {
      // A tie may be rounded either way.
      EXPECT_NEAR(reinterpret_cast<const float*>(out)[at], data.expected(row, column), 0.32) << where;
    } else {
      const double stored = rounded(data.expected(row, column), result_scale, -128);
      EXPECT_NEAR(reinterpret_cast<const signed char*>(out)[at], stored, 1) << where;
    }
  }

  void run(std::size_t first, std::size_t second, const MatrixPlan& plan, Data& data, void* out) {
    const MatrixProblem& p = plan.problem;
    const Bytes& c = data.c;
    std::vector<unsigned char> sums(plan.workspace() + 64);
    unsigned char zero = static_cast<unsigned char>(c.zero);
    std::vector<void*> behind;
    void *of_a = aligned(data.a), *of_b = aligned(data.b), *of_sums = aligned(sums),
         *column_sums = data.sums_of_b.data(), *corrections = data.corrections.data(), *of_zero = &zero,
         *multipliers = data.scales.data(), *offsets = data.offsets.data(), *of_other = aligned(data.other);
    std::vector<float> numbers = matrix_numbers(p);
    if (c.result != DType::i32) behind.insert(behind.end(), {&multipliers, &offsets});
    if (c.zero_by_run) behind.insert(behind.end(), {&column_sums, &of_zero});
    if (p.bytes->corrected) behind.push_back(&corrections);
    if (!p.steps.empty()) behind.push_back(&of_other);
    if (!numbers.empty()) behind.push_back(numbers.data());
    behind.push_back(&out);
    std::array<std::optional<TensorMap>, 3> maps;
    std::vector<void*> arguments{&of_a, &of_b};
    if (plan.tile.bulk) {
      maps[0] = test::emulated_map(boxes_of_a(plan), of_a);
      maps[1] = test::emulated_map(boxes_of_b(plan), of_b);
      ASSERT_TRUE(maps[0] && maps[1]);
      arguments = {&*maps[0], &*maps[1]};
      if (staged_step(plan)) {
        maps[2] = test::emulated_map(boxes_of_staged(plan), of_other);
        ASSERT_TRUE(maps[2]);
        arguments.push_back(&*maps[2]);
      }
    }
    if (plan.split > 1) {
      arguments.push_back(&of_sums);
      behind.insert(behind.begin(), &of_sums);
    } else {
      arguments.insert(arguments.end(), behind.begin(), behind.end());
    }
    ASSERT_TRUE(kernels.run(first, plan.blocks(3), static_cast<int>(plan.tile.threads()), arguments, true));
    if (plan.split > 1) {
      ASSERT_TRUE(kernels.run(second, plan.join_blocks(), MatrixPlan::join_threads, behind));
    }
  }
};

TEST_F(CudaByteProducts, of_any_size_type_and_zero_point) {
  add_case({.rows = 33, .columns = 40, .depth = 130, .a = DType::i8});
  add_case({.rows = 1, .columns = 65, .depth = 64, .b = DType::u8, .zero = 128, .result = DType::f32});
  add_case({.rows = 130, .columns = 24, .depth = 34, .zero = 7, .gap = 8});
  add_case({.rows = 70, .columns = 72, .depth = 256, .a = DType::i8, .zero = -100, .result = DType::i32});
  add_case({.rows = 20, .columns = 17, .depth = 96, .zero = 200, .zero_by_run = true, .result = DType::i32});
  add_case({.rows = 64, .columns = 32, .depth = 512, .zero = 3, .split = 2});
  add_case({.rows = 64, .columns = 31, .depth = 700, .a = DType::i8, .result = DType::i32, .split = 3});
  run_all();
}

TEST_F(CudaByteProducts, operands_of_bytes_are_copied_ahead_by_tensor_maps) {
  Bytes c{.rows = 150, .columns = 272, .depth = 144};
  const MatrixPlan plan{problem_of(c), *matrix_tile("128x128x64s5t"), 1};
  ASSERT_TRUE(runs_on(plan, 90));
  EXPECT_EQ(staged_bytes(plan), 1);
  add_case(c);
  c.result = DType::f32;
  add_case(c);
  MatrixWindow window{{7, 6}, {}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 128, 0};
  add_case(convolution(3, window, 160));
  run_all();
}

TEST_F(CudaByteProducts, of_images_whose_padding_is_the_zero_point) {
  const MatrixWindow windows[] = {
      {{7, 9}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 32, 0},
      {{7, 6}, {}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 128, 0},
      {{8, 9}, {}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, 128, 0},
      {{6, 7}, {}, {2, 3}, {1, 2}, {2, 1}, {0, 2}, 6, 0},
      {{1, 20}, {}, {1, 5}, {1, 1}, {1, 1}, {0, 2}, 4, 0},
  };
  int turn = 0;
  for (const MatrixWindow& window : windows) {
    Bytes c = convolution(2, window, turn % 2 == 0 ? 40 : 24);
    c.a = turn % 2 == 0 ? DType::u8 : DType::i8;
    add_case(c);
    c.zero = turn % 2 == 0 ? 131 : -9;
    c.split = 1 + turn % 3;
    add_case(c);
    ++turn;
  }
  Bytes groups = convolution(2, windows[0], 24, 3);
  groups.zero = 5;
  add_case(groups);
  run_all();
}

} // namespace
} // namespace lanner::cuda
