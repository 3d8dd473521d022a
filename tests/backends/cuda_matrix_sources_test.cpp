// Generated sources of tensor-core products and convolutions, run on the host and compared with their
// definition in double.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda_sources.h"
#include "backends/product/matrix_source.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cuda {
namespace {

constexpr MatrixTile tile_of(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t stages,
                             std::int64_t down, std::int64_t right, bool groups = false) {
  return {rows, columns, depth, stages, {down, right}, groups};
}

constexpr MatrixTile tiles[] = {
    tile_of(64, 64, 32, 3, 2, 2), tile_of(128, 64, 32, 4, 2, 2), tile_of(64, 128, 64, 2, 1, 4),
    tile_of(32, 64, 64, 3, 1, 4), tile_of(64, 32, 32, 4, 2, 2),
};

/// For warp groups; columns that are not a multiple of 64 need a transposed b.
constexpr MatrixTile group_tiles[] = {
    tile_of(64, 64, 64, 3, 4, 1, true),
    tile_of(128, 128, 64, 4, 4, 1, true),
    tile_of(128, 64, 64, 2, 8, 1, true),
    tile_of(64, 96, 64, 5, 4, 1, true),
};

/// With tensor maps.
constexpr MatrixTile bulk_of(std::int64_t rows, std::int64_t columns, std::int64_t stages, bool alternating) {
  MatrixTile tile{rows, columns, 64, stages, {alternating ? 4 : 8, 1}, true};
  tile.bulk = true;
  tile.alternating = alternating;
  return tile;
}
constexpr MatrixTile bulk_tiles[] = {
    bulk_of(64, 64, 3, true), bulk_of(128, 64, 2, false), bulk_of(128, 128, 4, true),
    bulk_of(64, 96, 5, true), // A transposed b only.
};

constexpr MatrixTile scalars_of(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                                std::int64_t stages, std::int64_t down, std::int64_t right) {
  return {rows, columns, depth, stages, {down, right}, false, true};
}

/// For f32.
constexpr MatrixTile scalar_tiles[] = {
    scalars_of(128, 128, 16, 4, 4, 2), scalars_of(128, 64, 32, 3, 4, 2), scalars_of(64, 64, 32, 3, 2, 2),
    scalars_of(128, 32, 32, 3, 4, 1),  scalars_of(64, 32, 32, 3, 2, 2),
};

/// Padding between rows: `a` and `b` for the operands, `c` for the result and full operands.
struct Gaps {
  std::int64_t a = 0, b = 0, c = 0;
};

MatrixProblem product(std::int64_t batch, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                      bool a_exchanged, bool b_exchanged, const Gaps& gaps = {}) {
  MatrixProblem p;
  p.batch = batch;
  p.rows = rows;
  p.columns = columns;
  p.depth = depth;
  p.a = {(a_exchanged ? rows : depth) + gaps.a, a_exchanged, 0};
  p.b = {(b_exchanged ? depth : columns) + gaps.b, b_exchanged, 0};
  if (batch > 1) {
    p.a.step = p.a.leading * (a_exchanged ? depth : rows);
    p.b.step = p.b.leading * (b_exchanged ? columns : depth);
  }
  p.leading = columns + gaps.c;
  return p;
}

MatrixProblem convolution(std::int64_t batch, const MatrixWindow& given, std::int64_t columns) {
  MatrixWindow w = given;
  for (int i = 0; i < 2; ++i)
    w.result[i] = (w.image[i] + 2 * w.begin[i] - (w.kernel[i] - 1) * w.dilations[i] - 1) / w.strides[i] + 1;
  MatrixProblem p = product(1, batch * w.result[0] * w.result[1], columns,
                            w.kernel[0] * w.kernel[1] * w.channels, false, true);
  p.window = w;
  return p;
}

/// The same with the channels in groups, each of which gives so many columns.
MatrixProblem grouped(std::int64_t batch, MatrixWindow window, std::int64_t columns, std::int64_t groups) {
  MatrixProblem p = convolution(batch, window, columns);
  p.window->pixel = groups * window.channels;
  p.batch = groups;
  p.side_by_side = true;
  p.a.step = window.channels;
  p.b.step = columns * p.depth;
  p.leading = columns * groups;
  return p;
}

MatrixStep activation(const char* name, float p = 0, float q = 0) {
  return {&formula(name), {p, q}, {}};
}
MatrixStep binary(const char* name, DType type, Spread spread, std::int64_t leading = 0) {
  return {&formula(name), {}, MatrixOperand{type, spread, leading}};
}

/// Elements of `a` from its first to the last one of its matrices.
std::int64_t elements_of_a(const MatrixProblem& p) {
  if (p.window) {
    const MatrixWindow& w = *p.window;
    return p.rows / (w.result[0] * w.result[1]) * w.image[0] * w.image[1] * w.pixel;
  }
  return p.a.step * (p.batch - 1) + p.a.leading * (p.a.exchanged ? p.depth : p.rows);
}
std::int64_t elements_of_b(const MatrixProblem& p) {
  return p.b.step * (p.batch - 1) + p.b.leading * (p.b.exchanged ? p.columns : p.depth);
}

double at(const Memory& memory, const OperandLayout& layout, std::int64_t z, std::int64_t row,
          std::int64_t column) {
  if (layout.exchanged) std::swap(row, column);
  return memory.get(z * layout.step + row * layout.leading + column);
}

double a_at(const MatrixProblem& p, const Memory& a, std::int64_t z, std::int64_t row, std::int64_t k) {
  if (!p.window) return at(a, p.a, z, row, k);
  const MatrixWindow& w = *p.window;
  const std::int64_t positions = w.result[0] * w.result[1], image = row / positions,
                     position = row % positions;
  const std::int64_t tap = k / w.channels;
  const std::int64_t y =
      position / w.result[1] * w.strides[0] - w.begin[0] + tap / w.kernel[1] * w.dilations[0];
  const std::int64_t x =
      position % w.result[1] * w.strides[1] - w.begin[1] + tap % w.kernel[1] * w.dilations[1];
  if (y < 0 || y >= w.image[0] || x < 0 || x >= w.image[1]) return 0;
  return a.get(((image * w.image[0] + y) * w.image[1] + x) * w.pixel + z * p.a.step + k % w.channels);
}

double applied(const MatrixStep& step, double x, double y) {
  const std::string name(step.formula->name);
  if (name == "add") return x + y;
  if (name == "mul") return x * y;
  if (name == "relu") return x < 0 ? 0 : x;
  if (name == "clip") return x < step.numbers.p ? step.numbers.p : x > step.numbers.q ? step.numbers.q : x;
  if (name == "linear") return x * step.numbers.p + step.numbers.q;
  if (name == "swish") return x / (1 + std::exp(-step.numbers.p * x));
  if (name == "gelu") return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
  if (name == "hard_swish") return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
  ADD_FAILURE() << "no step " << name;
  return 0;
}

/// f32 sums of up to some hundred products.
void expect_sum(double got, double expected, DType type, const std::string& what) {
  if (type == DType::f32 && std::isfinite(expected))
    EXPECT_NEAR(got, expected, 2e-5 * (1 + std::abs(expected))) << what;
  else
    expect_near(got, expected, type, what);
}

struct Case {
  MatrixPlan plan;
  double special = 0; ///< The value of one element of a.
  bool copies_at_once = false;
  std::string name() const {
    const MatrixProblem& p = plan.problem;
    return fmt::format("{} {} x {} x {} x {} split {} {} {} steps {}", plan.tile.name(), p.batch, p.rows,
                       p.columns, p.depth, plan.split, to_string(p.type), p.window ? "window" : "",
                       p.steps.size());
  }
};

class CudaMatrixSources : public CudaSources {
protected:
  void add_case(const MatrixProblem& problem, std::int64_t split = 1, double special = 0) {
    const std::size_t turn = turn_++;
    add_plan({problem, tiles[turn % std::size(tiles)], split}, turn, special);
    add_scalar_plan(problem, split, turn, special);
    if (problem.a.exchanged && !problem.window) return;
    const std::size_t fitting = std::size(group_tiles) - (problem.b.exchanged ? 0 : 1);
    const std::int64_t most = (problem.depth + 63) / 64;
    add_plan({problem, group_tiles[turn % fitting], std::min(split, most)}, turn, special);
    if (takes_tensor_maps(problem))
      add_plan({problem, bulk_tiles[turn % fitting], std::min(split, most)}, turn, special);
  }
  /// The same for f32.
  void add_scalar_plan(MatrixProblem problem, std::int64_t split, std::size_t turn, double special) {
    problem.type = problem.result = DType::f32;
    const MatrixTile& tile = scalar_tiles[turn % std::size(scalar_tiles)];
    const std::int64_t most = (problem.depth + tile.depth - 1) / tile.depth;
    add_plan({problem, tile, std::min(split, most)}, turn, special);
  }
  void add_plan(const MatrixPlan& plan, std::size_t turn, double special) {
    const std::int64_t split = plan.split;
    Case c{plan, special, turn % 2 == 1};
    const std::string source = matrix_source(c.plan);
    const std::size_t second = split > 1 ? add(source, "join_sums", nullptr) : 0;
    add(source, "matrix", [this, c, second](std::size_t first) { check(first, second, c); });
  }
  void check(std::size_t first, std::size_t second, const Case& c) {
    const MatrixProblem& p = c.plan.problem;
    SCOPED_TRACE(c.name());
    Memory a(p.type, elements_of_a(p)), b(p.type, elements_of_b(p)),
        out(p.result, p.batch * p.rows * p.leading);
    a.draw(random);
    b.draw(random);
    if (c.special != 0) a.set(a.elements() / 2, c.special);
    std::vector<Memory> operands;
    for (const MatrixStep& step : p.steps) {
      if (!step.operand) continue;
      const MatrixOperand& o = *step.operand;
      const std::int64_t count = o.spread == Spread::scalar    ? 1
                                 : o.spread == Spread::channel ? p.batch * p.columns
                                                               : p.batch * p.rows * o.leading;
      operands.emplace_back(o.type, count).draw(random);
    }
    std::vector<float> sums(c.plan.workspace() / sizeof(float) + 16, -77);
    run(first, second, c, a, b, operands, sums, out);
    const std::int64_t rows = p.rows * (p.side_by_side ? 1 : p.batch),
                       columns = p.columns * (p.side_by_side ? p.batch : 1);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < p.leading; ++column) {
        if (column >= columns) {
          ASSERT_EQ(out.get(row * p.leading + column), -77) << row << ", " << column;
          continue;
        }
        const double expected = value(p, a, b, operands, row, column);
        expect_sum(out.get(row * p.leading + column), expected, p.result, fmt::format("{}, {}", row, column));
        if (HasFailure()) return;
      }
    EXPECT_TRUE(out.fences_stand());
    EXPECT_EQ(sums.back(), -77);
  }

private:
  void run(std::size_t first, std::size_t second, const Case& c, Memory& a, Memory& b,
           std::vector<Memory>& operands, std::vector<float>& sums, Memory& out) {
    std::vector<void*> pointers;
    for (Memory& operand : operands) pointers.push_back(operand.data());
    pointers.push_back(out.data());
    void *of_a = a.data(), *of_b = b.data();
    // A write past the end of the last row covers at most sixteen floats.
    auto* aligned = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(sums.data()) + 31) / 32 * 32);
    void* of_sums = aligned;
    std::vector<void*> arguments{&of_a, &of_b}, behind{&of_sums};
    std::array<std::optional<TensorMap>, 3> maps;
    if (c.plan.tile.bulk) {
      maps[0] = test::emulated_map(boxes_of_a(c.plan), of_a);
      maps[1] = test::emulated_map(boxes_of_b(c.plan), of_b);
      ASSERT_TRUE(maps[0] && maps[1]);
      arguments = {&*maps[0], &*maps[1]};
    }
    if (const auto staged = staged_step(c.plan)) {
      const auto has_operand = [](const MatrixStep& step) { return step.operand.has_value(); };
      const auto before = std::ranges::count_if(std::span(c.plan.problem.steps).first(*staged), has_operand);
      maps[2] = test::emulated_map(boxes_of_staged(c.plan), pointers.at(static_cast<std::size_t>(before)));
      ASSERT_TRUE(maps[2]);
      arguments.push_back(&*maps[2]);
    }
    std::vector<void*>& last = c.plan.split > 1 ? behind : arguments;
    if (c.plan.split > 1) arguments.push_back(&of_sums);
    for (void*& pointer : pointers) last.push_back(&pointer);
    ASSERT_LE(c.plan.shared_bytes(), 227 << 10);
    ASSERT_TRUE(kernels.run(first, c.plan.blocks(3), static_cast<int>(c.plan.tile.threads()), arguments,
                            c.copies_at_once));
    if (c.plan.split > 1) {
      ASSERT_TRUE(kernels.run(second, c.plan.join_blocks(), MatrixPlan::join_threads, behind));
    }
  }
  static double value(const MatrixProblem& p, const Memory& a, const Memory& b,
                      const std::vector<Memory>& operands, std::int64_t row, std::int64_t column) {
    const std::int64_t z = p.side_by_side ? column / p.columns : row / p.rows, own = column % p.columns;
    double x = 0;
    for (std::int64_t k = 0; k < p.depth; ++k) x += a_at(p, a, z, row % p.rows, k) * at(b, p.b, z, k, own);
    std::size_t next = 0;
    for (const MatrixStep& step : p.steps) {
      double y = 0;
      if (step.operand) {
        const Memory& operand = operands[next++];
        y = operand.get(step.operand->spread == Spread::scalar    ? 0
                        : step.operand->spread == Spread::channel ? column
                                                                  : row * step.operand->leading + column);
      }
      x = applied(step, x, y);
    }
    return x;
  }
  std::size_t turn_ = 0;
};

TEST_F(CudaMatrixSources, products_of_any_size_and_order) {
  const std::int64_t sizes[][3] = {{64, 64, 64}, {1, 8, 8},     {129, 72, 40}, {33, 65, 17},  {70, 130, 100},
                                   {7, 3, 5},    {50, 255, 48}, {197, 24, 66}, {16, 1000, 36}};
  for (const auto& [rows, columns, depth] : sizes)
    for (int order = 0; order < 4; ++order) {
      MatrixProblem p = product(1, rows, columns, depth, order & 1, order & 2);
      if (order == 1) p.type = p.result = DType::bf16;
      if (order == 2) p.result = DType::f32;
      add_case(p);
    }
  run_all();
}

TEST_F(CudaMatrixSources, batches_gaps_and_splits) {
  for (int order = 0; order < 4; ++order) {
    add_case(product(3, 35, 40, 72, order & 1, order & 2));
    add_case(product(2, 33, 17, 19, order & 1, order & 2));
    add_case(product(1, 70, 40, 64, order & 1, order & 2, {8, 16, 24}));
    add_case(product(1, 70, 40, 64, order & 1, order & 2, {3, 2, 1}));
    add_case(product(1, 65, 72, 300, order & 1, order & 2), 3);
    add_case(product(2, 33, 35, 130, order & 1, order & 2), 2);
  }
  MatrixProblem repeated = product(3, 20, 24, 32, false, false);
  repeated.b.step = 0;
  add_case(repeated);
  run_all();
}

TEST_F(CudaMatrixSources, steps_after_the_sum) {
  const MatrixStep bias = binary("add", DType::f32, Spread::channel);
  const MatrixStep lists[][4] = {
      {bias, activation("relu")},
      {bias, binary("add", DType::f16, Spread::full, 40), activation("relu")},
      {binary("mul", DType::f16, Spread::channel), bias, activation("swish", 1)},
      {bias, activation("gelu"), binary("mul", DType::f32, Spread::scalar),
       binary("add", DType::f32, Spread::full, 48)},
      {bias, activation("hard_swish"), activation("clip", -0.2F, 2)},
      {activation("linear", 0.5F, 1), binary("add", DType::bf16, Spread::full, 41)},
  };
  for (const auto& list : lists)
    for (const std::int64_t split : {1, 2}) {
      MatrixProblem p = product(1, 77, 40, 96, false, split == 2);
      for (const MatrixStep& step : list)
        if (step.formula) p.steps.push_back(step);
      add_case(p, split);
    }
  MatrixProblem batched = product(2, 21, 40, 32, false, false);
  batched.steps = {bias, binary("add", DType::f16, Spread::full, 40)};
  add_case(batched);
  run_all();
}

TEST_F(CudaMatrixSources, operands_of_the_result_are_copied_ahead_by_tensor_maps) {
  const MatrixStep bias = binary("add", DType::f32, Spread::channel);
  MatrixWindow w{{9, 8}, {}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 64, 64};
  MatrixProblem problems[] = {product(1, 150, 200, 136, false, true, {8, 0, 8}),
                              product(2, 70, 72, 64, false, true), convolution(5, w, 136),
                              grouped(3, w, 72, 2)};
  std::size_t turn = 0;
  for (MatrixProblem& p : problems) {
    const DType other = turn % 2 == 0 ? DType::f16 : DType::f32;
    p.steps = {bias, binary("mul", other, Spread::full, p.leading + 8), activation("relu"),
               binary("add", DType::bf16, Spread::full, p.leading)};
    for (const MatrixTile& tile : bulk_tiles) {
      ASSERT_TRUE(takes_tensor_maps(p));
      const MatrixPlan plan{p, tile, 1};
      EXPECT_EQ(staged_step(plan).value_or(0), tile.columns % 64 != 0 ? 0U : other == DType::f16 ? 1U : 3U);
      add_plan(plan, turn++, 0);
    }
  }
  run_all();
}

TEST_F(CudaMatrixSources, convolutions_of_any_window) {
  const MatrixWindow windows[] = {
      {{9, 7}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 32, 32},
      {{9, 8}, {}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 64, 64},
      {{8, 9}, {}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, 40, 40},
      {{8, 9}, {}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 24, 32},
      {{11, 9}, {}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, 3, 3},
      {{11, 9}, {}, {3, 5}, {1, 2}, {2, 1}, {2, 2}, 24, 24},
      {{7, 7}, {}, {3, 3}, {1, 1}, {3, 2}, {3, 2}, 12, 12},
      {{9, 9}, {}, {4, 2}, {3, 1}, {1, 1}, {0, 1}, 6, 10},
      {{5, 5}, {}, {5, 5}, {1, 1}, {1, 1}, {0, 0}, 16, 16},
      {{1, 33}, {}, {1, 7}, {1, 2}, {1, 1}, {0, 3}, 8, 8},
      {{6, 6}, {}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 8, 8},
  };
  for (const MatrixWindow& window : windows)
    for (const std::int64_t columns : {24, 65}) {
      MatrixProblem p = convolution(2, window, columns);
      p.steps = {binary("add", DType::f32, Spread::channel), activation("relu")};
      if (columns == 65) p.type = DType::bf16;
      add_case(p);
    }
  add_case(convolution(3, windows[0], 32), 4);
  run_all();
}

TEST_F(CudaMatrixSources, groups_of_channels_are_adjacent) {
  const MatrixWindow windows[] = {
      {{9, 7}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 16, 0},
      {{8, 9}, {}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 64, 0},
      {{8, 9}, {}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 12, 0},
      {{1, 33}, {}, {1, 5}, {1, 2}, {1, 2}, {0, 3}, 6, 0},
  };
  for (const MatrixWindow& window : windows)
    for (const auto& [groups, columns] : {std::pair{2, 40}, std::pair{3, 8}, std::pair{4, 5}}) {
      MatrixProblem p = grouped(2, window, columns, groups);
      p.steps = {binary("add", DType::f32, Spread::channel),
                 binary("add", DType::f16, Spread::full, p.leading), activation("relu")};
      if (groups == 3) p.type = DType::bf16;
      add_case(p, groups == 2 ? 2 : 1);
    }
  run_all();
}

TEST_F(CudaMatrixSources, nan_stays_nan) {
  for (const double special : {nan, infinity}) {
    MatrixProblem p = product(1, 40, 40, 48, false, false);
    p.steps = {activation("relu"), activation("clip", 0, 6)};
    add_case(p, 1, special);
    add_case(p, 2, special);
    MatrixProblem c = convolution(2, {{9, 7}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 32, 32}, 40);
    c.steps = {activation("hard_swish")};
    add_case(c, 1, special);
  }
  run_all();
}

} // namespace
} // namespace lanner::cuda
