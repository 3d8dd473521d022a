#include "backends/cuda/matrix_source.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "backends/cuda/matrix_text.h"
#include "backends/cuda/source_text.h"
#include "base/joined.h"

namespace lanner::cuda {
namespace {

constexpr std::int64_t group = 8; ///< Rows of tiles that are worked on side by side.

std::int64_t parts_of(std::int64_t size, std::int64_t part) {
  return (size + part - 1) / part;
}

/// The largest of 8, 4, 2 and 1 that divides all.
std::int64_t common_pack(std::initializer_list<std::int64_t> sizes) {
  std::int64_t pack = 8;
  for (const std::int64_t size : sizes) pack = std::gcd(pack, size);
  return pack;
}

/// Elements of a row of the result that a thread finishes at once.
std::int64_t width_of(const MatrixProblem& p) {
  std::int64_t width = common_pack({p.columns, p.leading});
  for (const MatrixStep& step : p.steps)
    if (step.operand && step.operand->spread == Spread::full) width = std::gcd(width, step.operand->leading);
  return width;
}

std::string constant(const char* name, std::int64_t value) {
  return fmt::format("constexpr int {} = {};\n", name, value);
}

std::string matrix_text(const char* name, const MatrixPlace& place, std::int64_t rows, std::int64_t columns) {
  if (place.exchanged) std::swap(rows, columns);
  return fmt::format("struct {} {{\n  static constexpr unsigned rows = {}u, columns = {}u;\n"
                     "  static constexpr index_t leading = {}ll;\n"
                     "  static constexpr int pack = {};\n  static constexpr bool exchanged = {};\n}};\n",
                     name, rows, columns, place.leading,
                     common_pack({columns, rows > 1 ? place.leading : 0, place.step}), place.exchanged);
}

std::string window_text(const MatrixWindow& w) {
  std::string text;
  const char* const axes[] = {"H", "W"};
  for (int i = 0; i < 2; ++i) {
    const std::pair<const char*, std::int64_t> sizes[] = {{"O", w.result[i]},
                                                          {"K", w.kernel[i]},
                                                          {"S", w.strides[i]},
                                                          {"D", w.dilations[i]},
                                                          {"P", w.begin[i]}};
    for (const auto& [what, value] : sizes)
      text += constant(fmt::format("{}{}", what, axes[i]).c_str(), value);
  }
  return text +
         fmt::format("constexpr unsigned IH = {}u, IW = {}u, C = {}u;\n", w.image[0], w.image[1],
                     w.channels) +
         constant("PIXEL", w.pixel) + constant("A_PACK", common_pack({w.channels, w.pixel}));
}

std::string sizes_text(const MatrixPlan& plan) {
  const MatrixProblem& p = plan.problem;
  const MatrixTile& t = plan.tile;
  std::string text = constant("BM", t.rows) + constant("BN", t.columns) + constant("BK", t.depth) +
                     constant("STAGES", t.stages) + constant("WARPS_M", t.warps[0]) +
                     constant("WARPS_N", t.warps[1]) + constant("V", width_of(p));
  text +=
      fmt::format("constexpr unsigned M = {}u, N = {}u, K = {}u, BATCH = {}u, SPLIT = {}u, GROUP = {}u;\n",
                  p.rows, p.columns, p.depth, p.batch, plan.split, group);
  text += fmt::format("constexpr unsigned TILES_M = {}u, TILES_N = {}u, K_TILES = {}u;\n",
                      parts_of(p.rows, t.rows), parts_of(p.columns, t.columns), parts_of(p.depth, t.depth));
  return text + fmt::format("constexpr index_t A_STEP = {}ll, B_STEP = {}ll;\n", p.a.step, p.b.step);
}

/// Function `finish`, which makes of V neighbouring sums the result's elements, with the operands that it and
/// the kernels are given.
struct Finish {
  std::vector<std::string> parameters, arguments;
  std::string text;

  explicit Finish(const MatrixProblem& p) {
    std::string reads, steps;
    for (const MatrixStep& step : p.steps) {
      std::vector<std::string> operands{"r"};
      if (step.operand) operands.push_back(add_operand(*step.operand, reads));
      steps += fmt::format("    r = {};\n", formula_text(*step.formula, step.numbers, operands));
    }
    const auto type = type_name(p.result);
    parameters.push_back(fmt::format("{}* __restrict__ out", type));
    arguments.emplace_back("out");
    text = fmt::format(
        "__device__ inline void finish(const Pack<float, V>& sum, unsigned row, unsigned column, {}) {{\n"
        "{}  Pack<{}, V> pack;\n#pragma unroll\n  for (int k = 0; k < V; ++k) {{\n"
        "    float r = sum.values[k];\n{}    pack.values[k] = Store<{}>::of(r);\n  }}\n"
        "  store_pack<{}, V>(out + (index_t(row) * {}ll + column), pack, is_aligned<{}, V>(out));\n}}\n",
        joined(parameters, ", "), reads, type, steps, type, type, p.leading, type);
  }

private:
  /// Returns the element's value as an expression.
  std::string add_operand(const MatrixOperand& operand, std::string& reads) {
    const std::size_t i = parameters.size();
    const auto type = type_name(operand.type);
    parameters.push_back(fmt::format("const {}* __restrict__ e{}", type, i));
    arguments.push_back(fmt::format("e{}", i));
    if (operand.spread == Spread::scalar) return fmt::format("load(e{}[0])", i);
    const std::string at = operand.spread == Spread::channel
                               ? "column"
                               : fmt::format("(index_t(row) * {}ll + column)", operand.leading);
    reads +=
        fmt::format("  const Pack<{0}, V> q{1} = load_pack<{0}, V>(e{1} + {2}, is_aligned<{0}, V>(e{1}));\n",
                    type, i, at);
    return fmt::format("load(q{}.values[k])", i);
  }
};

constexpr const char* join_body = R"(
  constexpr index_t total = index_t(BATCH) * M * N;
  const index_t i = (index_t(blockIdx.x) * blockDim.x + threadIdx.x) * V;
  if (i >= total) return;
  Pack<float, V> sum = *reinterpret_cast<const Pack<float, V>*>(sums + i);
#pragma unroll
  for (int part = 1; part < SPLIT; ++part) {
    const Pack<float, V> next = *reinterpret_cast<const Pack<float, V>*>(sums + part * total + i);
#pragma unroll
    for (int k = 0; k < V; ++k) sum.values[k] += next.values[k];
  }
)";

} // namespace

std::string MatrixTile::name() const {
  return fmt::format("{}x{}x{}s{}", rows, columns, depth, stages);
}

std::int64_t MatrixPlan::blocks() const {
  return parts_of(problem.rows, tile.rows) * parts_of(problem.columns, tile.columns) * problem.batch * split;
}

std::int64_t MatrixPlan::shared_bytes() const {
  const std::int64_t stages = tile.stages * (tile.rows + tile.columns) * tile.depth * 2;
  const std::int64_t lines = tile.warps[0] * tile.warps[1] * 16 * (tile.columns / tile.warps[1] + 8) * 4;
  return std::max(stages, lines);
}

std::size_t MatrixPlan::workspace() const {
  if (split == 1) return 0;
  return static_cast<std::size_t>(split * problem.batch * problem.rows * problem.columns) * sizeof(float);
}

std::int64_t MatrixPlan::join_blocks() const {
  return parts_of(problem.batch * problem.rows * problem.columns / width_of(problem), join_threads);
}

std::string matrix_source(const MatrixPlan& plan) {
  const MatrixProblem& p = plan.problem;
  const Finish finish(p);
  std::string text = fmt::format("{}typedef {} element_t;\n#define MMA_TYPE \"{}\"\n", prelude(),
                                 type_name(p.type), p.type == DType::f16 ? "f16" : "bf16");
  text += matrix_instructions();
  text += sizes_text(plan);
  if (p.window)
    text += window_text(*p.window);
  else
    text += matrix_text("A", p.a, p.rows, p.depth);
  text += matrix_text("B", p.b, p.depth, p.columns);
  text += matrix_loads;
  text += p.window ? matrix_images : matrix_rows;
  text += finish.text;
  const bool split = plan.split > 1;
  const std::string given = split ? "float* __restrict__ sums" : joined(finish.parameters, ", ");
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(THREADS) matrix(const element_t* __restrict__ a, "
      "const element_t* __restrict__ b, {}) {{",
      given);
  text += matrix_body;
  if (split)
    text += "      *reinterpret_cast<Pack<float, V>*>(sums + ((index_t(part) * BATCH + z) * M + row) * N + "
            "column) = sum;";
  else
    text += fmt::format("      finish(sum, z * M + row, column, {});", joined(finish.arguments, ", "));
  text += matrix_end;
  if (!split) return text;
  return text +
         fmt::format("extern \"C\" __global__ void __launch_bounds__({}) join_sums(const float* __restrict__ "
                     "sums, {}) {{"
                     "{}  finish(sum, static_cast<unsigned>(i / N), static_cast<unsigned>(i % N), {});\n}}\n",
                     MatrixPlan::join_threads, joined(finish.parameters, ", "), join_body,
                     joined(finish.arguments, ", "));
}

} // namespace lanner::cuda
