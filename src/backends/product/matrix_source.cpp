#include "backends/product/matrix_source.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "backends/cuda/source_text.h"
#include "backends/product/matrix_text.h"
#include "base/text/joined.h"

namespace lanner::cuda {
namespace {

constexpr std::int64_t bulk_barrier_bytes = 128; ///< 8 bytes each: two for each of up to 7 stages, and two.
constexpr std::int64_t group = 8;                ///< Rows of tiles that are processed together, for L2 reuse.

std::int64_t parts_of(std::int64_t size, std::int64_t part) {
  return (size + part - 1) / part;
}

/// The largest of `most` and its halves that divides all.
std::int64_t common_pack(std::initializer_list<std::int64_t> sizes, std::int64_t most = 8) {
  std::int64_t pack = most;
  for (const std::int64_t size : sizes) pack = std::gcd(pack, size);
  return pack;
}

/// Elements of a result row that a thread finishes at once.
std::int64_t width_of(const MatrixProblem& p) {
  std::int64_t width = common_pack({p.columns, p.leading});
  for (const MatrixStep& step : p.steps)
    if (step.operand && step.operand->spread == Spread::full) width = std::gcd(width, step.operand->leading);
  return width;
}

std::string constant(const char* name, std::int64_t value) {
  return fmt::format("constexpr int {} = {};\n", name, value);
}

std::string matrix_text(const char* name, const OperandLayout& layout, std::int64_t rows,
                        std::int64_t columns, std::int64_t most) {
  if (layout.exchanged) std::swap(rows, columns);
  return fmt::format("struct {} {{\n  static constexpr unsigned rows = {}u, columns = {}u;\n"
                     "  static constexpr index_t leading = {}ll;\n"
                     "  static constexpr int pack = {};\n  static constexpr bool exchanged = {};\n}};\n",
                     name, rows, columns, layout.leading,
                     common_pack({columns, rows > 1 ? layout.leading : 0, layout.step}, most),
                     layout.exchanged);
}

std::string window_text(const MatrixWindow& w, std::int64_t pack) {
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
         constant("PIXEL", w.pixel) + constant("A_PACK", pack);
}

/// Minimum blocks per multiprocessor, from which the compiler derives the registers available to a thread.
std::int64_t least_blocks(const MatrixPlan& plan) {
  constexpr std::int64_t registers = 65536, shared = 227 << 10;
  const MatrixTile& t = plan.tile;
  if (t.bulk) return 1;
  // Warp groups hold no fragments of a and b in registers, and scalar tiles only few.
  const std::int64_t others = t.groups || t.scalars ? 64 : 96;
  const std::int64_t sums = t.rows * t.columns / t.threads();
  return std::clamp<std::int64_t>(
      std::min(shared / (plan.shared_bytes() + 1024), registers / (t.threads() * (sums + others))), 1, 3);
}

/// Floats behind each line of sums that a warp reorders: eight keep rows in different banks; the largest
/// tiles leave room for four.
std::int64_t line_padding(const MatrixTile& t) {
  return t.bulk && t.rows + t.columns >= 384 ? 4 : 8;
}

/// What lies around images: a's zero point, in both bytes of a pair.
std::string padding_text(const MatrixProblem& p) {
  const int byte = p.bytes ? p.bytes->padding & 255 : 0;
  const std::string text = constant("PADDING", byte << 8 | byte);
  return text + fmt::format("__device__ inline element_t padding() {{ return element_t{{PADDING}}; }}\n");
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
  // Row and column offset of the next matrix of the batch in the result.
  text += fmt::format("constexpr unsigned Z_ROWS = {}u, Z_COLUMNS = {}u;\n", p.side_by_side ? 0 : p.rows,
                      p.side_by_side ? p.columns : 0);
  text += fmt::format("constexpr bool WARP_GROUPS = {}, ALTERNATING = {};\n", t.groups, t.alternating) +
          fmt::format("constexpr bool CONSTANT_B = {};\n", p.constant_b) + constant("THREADS", t.threads()) +
          constant("LINE_PADDING", line_padding(t)) + constant("STAGED", staged_bytes(plan)) +
          constant("READ_UNITS", least_blocks(plan) > 1 || staged_step(plan) ? 1 : 2);
  text += padding_text(p);
  return text + fmt::format("constexpr index_t A_STEP = {}ll, B_STEP = {}ll;\n", p.a.step, p.b.step);
}

/// Code that turns V adjacent sums into the result's elements: `Given` holds elements of operands of the
/// result's shape, `Shared` those common to all rows, and `finish` applies the steps.
struct Finish {
  std::vector<std::string> parameters, arguments;
  std::string text;

  explicit Finish(const MatrixPlan& plan) {
    const MatrixProblem& p = plan.problem;
    const std::string sum = sum_text(p), steps = p.result == DType::i32 ? "" : steps_text(plan),
                      stored = stored_text(p);
    const auto type = type_name(p.result);
    if (!numbers.empty()) {
      parameters.emplace_back("const Numbers numbers");
      arguments.emplace_back("numbers");
    }
    parameters.push_back(fmt::format("{}* __restrict__ out", type));
    arguments.emplace_back("out");
    const std::string all = joined(parameters, ", ");
    text =
        fmt::format("struct Numbers {{ float all[{}]; }};\n", std::max<std::size_t>(numbers.size(), 1)) +
        given_.text("Given", "given", all) + shared_.text("Shared", "shared", all) +
        fmt::format(
            "__device__ inline void finish(const Pack<sum_t, V>& sum, const Given& given, const Shared& "
            "shared, unsigned row, unsigned column, {}) {{\n"
            "  {}#pragma unroll\n  for (int k = 0; k < V; ++k) {{\n"
            "    {} r = {};\n{}    {}\n  }}\n{}"
            "  store_pack<{}, V>(out + (index_t(row) * {}ll + column), pack, is_aligned<{}, V>(out));\n}}\n",
            all, p.rounding ? "int whole[V];\n" : fmt::format("Pack<{}, V> pack;\n", type),
            p.result == DType::i32 ? "int" : "float", sum, steps, stored,
            p.rounding ? fmt::format("  const Pack<{0}, V> pack = saturated<{0}>(whole);\n", type) : "", type,
            p.leading, type);
  }

  std::vector<float> numbers;

private:
  /// A struct of packs, the function that reads them, and the check whether they can be read at once.
  struct Packs {
    std::string members, reads, aligned = "true";

    void add(std::size_t i, std::string_view type, const std::string& at) {
      members += fmt::format("  Pack<{}, V> q{};\n", type, i);
      reads += fmt::format("  to.q{0} = load_pack<{1}, V>(e{0} + {2}, aligned);\n", i, type, at);
      aligned += fmt::format(" && is_aligned<{}, V>(e{})", type, i);
    }
    void add_staged(std::size_t i, std::string_view type) {
      members += fmt::format("  Pack<{}, V> q{};\n", type, i);
      reads += fmt::format("  to.q{0} = *static_cast<const Pack<{1}, V>*>(staged);\n", i, type);
    }
    std::string text(const char* type, const char* name, const std::string& parameters) const {
      return fmt::format(
          "struct {0} {{\n{1}}};\n"
          "__device__ inline void load_{2}({0}& to, unsigned row, unsigned column, bool aligned, "
          "const void* staged, {3}) {{\n{4}}}\n"
          "__device__ inline bool is_aligned_{2}({3}) {{ return {5}; }}\n",
          type, members, name, parameters, reads, aligned);
    }
  };

  std::size_t add_parameter(std::string_view type) {
    const std::size_t i = parameters.size();
    parameters.push_back(fmt::format("const {}* __restrict__ e{}", type, i));
    arguments.push_back(fmt::format("e{}", i));
    return i;
  }

  /// The number of a parameter of floats, one for each column.
  std::string column_number(std::string_view type) {
    const std::size_t i = add_parameter(type);
    shared_.add(i, type, "column");
    return fmt::format("shared.q{}.values[k]", i);
  }
  std::string number_of_launch(float value) {
    numbers.push_back(value);
    return fmt::format("numbers.all[{}]", numbers.size() - 1);
  }

  /// The number that the steps begin with.
  std::string sum_text(const MatrixProblem& p) {
    if (!p.bytes) return "sum.values[k]";
    std::string multiplier, offset, sum = "sum.values[k]";
    if (p.result != DType::i32) {
      multiplier = column_number("float");
      offset = column_number("float");
    }
    if (p.bytes->zero_type) {
      const std::string of_column = column_number("int");
      sum = fmt::format("({} - int(e{}[0]) * {})", sum, add_parameter(type_name(*p.bytes->zero_type)),
                        of_column);
    }
    if (p.bytes->corrected) sum += fmt::format(" - {}", column_number("int"));
    if (p.result == DType::i32) return sum;
    return fmt::format("fmaf(static_cast<float>({}), {}, {})", sum, multiplier, offset);
  }

  std::string steps_text(const MatrixPlan& plan) {
    const MatrixProblem& p = plan.problem;
    const auto staged = staged_step(plan);
    std::string steps;
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
      const MatrixStep& step = p.steps[i];
      if (step.rounding) {
        steps += inner_rounding_text(*step.rounding);
        continue;
      }
      std::vector<std::string> operands{"r"};
      if (step.operand) operands.push_back(add_operand(*step.operand, i == staged));
      if (step.reversed) std::swap(operands[0], operands[1]);
      steps += fmt::format("    r = {};\n", formula_text(*step.formula, step.numbers, operands));
    }
    if (p.rounding) steps += scaled_text(p.rounding->by);
    return for_results(std::move(steps), p.result);
  }

  /// The number that a stored one stands for.
  std::string real_text(const std::string& stored, const ByteScale& by) {
    if (by.zero == 0) return fmt::format("({} * {})", stored, number_of_launch(by.scale));
    const std::string zero = number_of_launch(static_cast<float>(by.zero));
    return fmt::format("(({} - {}) * {})", stored, zero, number_of_launch(by.scale));
  }

  /// Divides by the scale.
  std::string scaled_text(const ByteScale& by) {
    return by.scale == 1 ? "" : fmt::format("    r *= {};\n", number_of_launch(1 / by.scale));
  }

  /// Makes r the number that the byte nearest to it stands for. NaN becomes the least number.
  std::string inner_rounding_text(const ByteRounding& rounding) {
    const float least = (rounding.type == DType::i8 ? -128.0F : 0.0F) - static_cast<float>(rounding.by.zero);
    const std::string low = number_of_launch(least), high = number_of_launch(least + 255);
    return scaled_text(rounding.by) + "    r = rintf(r);\n" +
           fmt::format("    r = at_most(r >= {0} ? r : {0}, {1}) * {2};\n", low, high,
                       number_of_launch(rounding.by.scale));
  }

  std::string stored_text(const MatrixProblem& p) {
    if (p.result == DType::i32) return "pack.values[k] = r;";
    if (!p.rounding) return fmt::format("pack.values[k] = Store<{}>::of(r);", type_name(p.result));
    // NaN becomes the least number.
    const std::string whole = "r == r ? __float2int_rn(r) : -0x7fffffff";
    if (p.rounding->by.zero == 0) return fmt::format("whole[k] = {};", whole);
    return fmt::format("whole[k] = add_saturated({}, static_cast<int>({}));", whole,
                       number_of_launch(static_cast<float>(p.rounding->by.zero)));
  }

  /// Returns the element's value as an expression.
  std::string add_operand(const MatrixOperand& operand, bool staged) {
    const auto type = type_name(operand.type);
    const std::size_t i = add_parameter(type);
    std::string element = fmt::format("load(e{}[0])", i);
    if (operand.spread == Spread::channel) {
      shared_.add(i, type, "column");
      element = fmt::format("load(shared.q{}.values[k])", i);
    } else if (operand.spread == Spread::full) {
      if (staged)
        given_.add_staged(i, type);
      else
        given_.add(i, type, fmt::format("(index_t(row) * {}ll + column)", operand.leading));
      element = fmt::format("load(given.q{}.values[k])", i);
    }
    return operand.stored ? real_text(element, *operand.stored) : element;
  }

  Packs given_, shared_;
};

/// Lambdas `read_unit` and `read_shared`, which precede the products.
std::string reads_text(const std::string& arguments) {
  return fmt::format(R"(
  Given all[READ_UNITS][TURNS];
  const bool aligned_given = is_aligned_given({0}), aligned_shared = is_aligned_shared({0});
  const auto read_all = [&](int unit, bool aligned) {{
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {{
      const Piece piece = piece_of(unit, turn);
      if (piece.inside) load_given(all[unit % READ_UNITS][turn], z * Z_ROWS + piece.row, z * Z_COLUMNS + piece.column, aligned, staged_pack(piece), {0});
    }}
  }};
  const auto read_unit = [&](int unit) {{
    if (aligned_given) read_all(unit, true);
    else read_all(unit, false);
  }};
  const auto read_shared = [&](Shared& to, unsigned column) {{
    if (aligned_shared) load_shared(to, 0, column, true, nullptr, {0});
    else load_shared(to, 0, column, false, nullptr, {0});
  }};
)",
                     arguments);
}

/// The same where partial sums are written unchanged.
constexpr const char* no_reads = R"(
  struct Given {};
  struct Shared {};
  const Given all[READ_UNITS][TURNS] = {};
  const auto read_unit = [](int) {};
  const auto read_shared = [](Shared&, unsigned) {};
)";

constexpr const char* join_body = R"(
  constexpr index_t total = index_t(BATCH) * M * N;
  const index_t i = (index_t(blockIdx.x) * blockDim.x + threadIdx.x) * V;
  if (i >= total) return;
  Pack<sum_t, V> sum = *reinterpret_cast<const Pack<sum_t, V>*>(sums + i);
#pragma unroll
  for (int part = 1; part < SPLIT; ++part) {
    const Pack<sum_t, V> next = *reinterpret_cast<const Pack<sum_t, V>*>(sums + part * total + i);
#pragma unroll
    for (int k = 0; k < V; ++k) sum.values[k] += next.values[k];
  }
)";

std::string join_text(const Finish& finish) {
  const std::string arguments = joined(finish.arguments, ", ");
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}) join_sums(const sum_t* __restrict__ "
      "sums, {1}) {{\n  start_next();\n  wait_for_earlier();{2}"
      "  const unsigned all = static_cast<unsigned>(i / N), z = all / M;\n"
      "  const unsigned row = z * Z_ROWS + all % M, column = z * Z_COLUMNS + static_cast<unsigned>(i % N);\n"
      "  Given given;\n  Shared shares;\n"
      "  load_given(given, row, column, is_aligned_given({3}), nullptr, {3});\n"
      "  load_shared(shares, row, column, is_aligned_shared({3}), nullptr, {3});\n"
      "  finish(sum, given, shares, row, column, {3});\n}}\n",
      MatrixPlan::join_threads, joined(finish.parameters, ", "), join_body, arguments);
}

constexpr const char* matrix_parameters = "const element_t* __restrict__ a, const element_t* __restrict__ b";
constexpr const char* bulk_parameters =
    "const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map";
constexpr const char* staged_parameter = ", const __grid_constant__ TensorMap staged_map";

/// In instructions.
const char* byte_name(DType type) {
  return type == DType::i8 ? "s8" : "u8";
}

/// Types of elements, which are pairs of bytes where a and b are bytes, and of sums; names of a's and b's
/// types in instructions.
std::string types_text(const MatrixProblem& p) {
  if (p.bytes)
    return fmt::format("struct element_t {{ unsigned short pair; }};\ntypedef int sum_t;\n"
                       "#define MMA_TYPE \"{}\"\n#define MMA_OTHER \"{}\"\n",
                       byte_name(p.type), byte_name(p.bytes->b));
  return fmt::format("typedef {} element_t;\ntypedef float sum_t;\n#define MMA_TYPE \"{}\"\n",
                     type_name(p.type), p.type == DType::bf16 ? "bf16" : "f16");
}

std::string products_text(const MatrixTile& tile) {
  if (tile.scalars) return scalar_products;
  if (!tile.groups) return warp_products;
  return std::string(group_lambdas) + (tile.bulk ? bulk_products : group_products);
}

} // namespace

std::int64_t element_bytes(DType type) {
  return std::max<std::int64_t>(static_cast<std::int64_t>(bit_width(type)) / 8, 2);
}

std::int64_t most_copied(DType type) {
  return 16 / element_bytes(type);
}

std::int64_t copied_channels(const MatrixProblem& p) {
  return common_pack({p.window->channels, p.window->pixel, p.a.step}, most_copied(p.type));
}

std::string MatrixTile::name() const {
  return fmt::format("{}x{}x{}s{}{}", rows, columns, depth, stages,
                     alternating ? "a"
                     : bulk      ? "t"
                     : groups    ? "g"
                     : scalars   ? "f"
                                 : "");
}

std::int64_t MatrixPlan::blocks(std::int64_t multiprocessors) const {
  return tile.bulk ? std::min(tiles(), multiprocessors) : tiles();
}

std::int64_t MatrixPlan::tiles() const {
  return parts_of(problem.rows, tile.rows) * parts_of(problem.columns, tile.columns) * problem.batch * split;
}

std::int64_t MatrixPlan::shared_bytes() const {
  constexpr std::int64_t slice = 64;
  const std::int64_t stages =
      tile.stages * (tile.rows + tile.columns) * tile.depth * element_bytes(problem.type);
  const std::int64_t columns = tile.columns / tile.warps[1], line = columns % slice == 0 ? slice : columns;
  const std::int64_t warps = tile.bulk ? 8 : tile.warps[0] * tile.warps[1];
  const std::int64_t lines = warps * 16 * (line + line_padding(tile)) * 4;
  return tile.bulk ? stages + bulk_barrier_bytes + lines : std::max(stages, lines);
}

std::vector<float> matrix_numbers(const MatrixProblem& problem) {
  return Finish({problem, MatrixTile{}, 1}).numbers;
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
  const Finish finish(plan);
  std::string text = std::string(prelude()) + types_text(p);
  const MatrixTile& t = plan.tile;
  const bool bytes = p.bytes.has_value();
  text += matrix_instructions();
  text += warp_multiply(bytes);
  if (t.groups) text += group_instructions(t.columns, bytes);
  if (t.bulk) text += bulk_instructions();
  text += sizes_text(plan);
  text += matrix_order;
  if (p.window)
    text += window_text(*p.window, copied_channels(p));
  else
    text += matrix_text("A", p.a, p.rows, p.depth, most_copied(p.type));
  text += matrix_text("B", p.b, p.depth, p.columns, most_copied(p.type));
  if (t.bulk) {
    text += p.window ? bulk_images : bulk_rows;
  } else {
    text += matrix_loads;
    text += p.window ? matrix_images : matrix_rows;
  }
  if (p.rounding)
    text += fmt::format("#define BYTE_TYPE \"{}\"\n{}", byte_name(p.result), matrix_byte_results);
  text += finish.text;
  const bool split = plan.split > 1;
  const std::string given = split ? "sum_t* __restrict__ sums" : joined(finish.parameters, ", ");
  const std::string arguments = joined(finish.arguments, ", ");
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__(THREADS, {}) matrix({}{}, {}) {{\n",
                      least_blocks(plan), t.bulk ? bulk_parameters : matrix_parameters,
                      staged_step(plan) ? staged_parameter : "", given);
  if (t.bulk && !staged_step(plan)) text += "  const TensorMap& staged_map = a_map; // Not used.\n";
  text += t.bulk ? bulk_begin : matrix_begin;
  text += matrix_epilogue;
  text += split ? no_reads : reads_text(arguments);
  text += products_text(t);
  text += matrix_units;
  text +=
      split ? "      *reinterpret_cast<Pack<sum_t, V>*>(sums + ((index_t(part) * BATCH + z) * M + row) * N + "
              "column) = sum;"
            : fmt::format("      finish(sum, given, shares, z * Z_ROWS + row, z * Z_COLUMNS + column, {});",
                          arguments);
  text += matrix_unit_end;
  text += t.bulk ? bulk_end : "}\n";
  return split ? text + join_text(finish) : text;
}

} // namespace lanner::cuda
