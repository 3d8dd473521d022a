#include "backends/elementwise/elementwise_source.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <lanner/error.h>

#include "backends/cuda/source_text.h"
#include "backends/group.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "base/text/joined.h"
#include "graph/storage/within.h"

namespace lanner::cuda {
namespace {

/// How adjacent elements of a thread address an operand or result.
enum class Access : std::uint8_t {
  one,    ///< All use the same element.
  dense,  ///< Adjacent in memory.
  single, ///< Each computes its own address.
};

class Writer {
public:
  /// `sized`: sizes are parameters.
  Writer(const ElementwiseProgram& program, const Tactic& tactic, bool sized)
      : program_(program), tactic_(tactic), sized_(sized),
        axes_(memory_axes(tactic.outputs.at(0).layout, program.shape)),
        width_(sized ? 1 : elementwise_width(program, tactic)) {
    std::erase_if(axes_, [](const MemoryAxis& axis) { return axis.size == 1; });
  }

  std::string run() {
    const bool narrow = !sized_ && program_.shape.elements() < (std::int64_t{1} << 31);
    // Adjacent elements of a thread, and threads that stride over the grid.
    loop_ = fmt::format(
        "  for (number_t first = (number_t(blockIdx.x) * blockDim.x + threadIdx.x) * {0}; first < {1};"
        " first += number_t(gridDim.x) * blockDim.x * {0}) {{\n",
        width_, sized_ ? "p.elements" : fmt::format("{}ll", program_.shape.elements()));
    if (sized_) before_ += "    const index_t i = first;\n";
    if (sized_) find_operands();
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) read(i);
    for (std::size_t r = 0; r < static_cast<std::size_t>(program_.registers); ++r)
      body_ += fmt::format("      float v{};\n", program_.inputs.size() + r);
    for (const TileInstruction& instruction : program_.instructions) compute(instruction);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) write(i);
    if (sized_) parameters_.emplace_back("const Sizes p");
    return fmt::format(
        "{}typedef {} number_t;\n{}extern \"C\" __global__ void __launch_bounds__(256) {}({}) {{\n"
        "  start_next();\n  wait_for_earlier();\n{}{}{}#pragma unroll\n    for (int k = 0; k < {}; ++k) "
        "{{\n{}    }}\n{}  }}\n}}\n",
        prelude(), narrow ? "unsigned" : "index_t", sized_ ? sizes() : "",
        sized_ ? sized_name(program_) : "elementwise", joined(parameters_, ", "), checks_, loop_, before_,
        width_, body_, behind_);
  }

private:
  void read(std::size_t i) {
    const ProgramInput& input = program_.inputs[i];
    if (!is_parameter(input)) {
      body_ += fmt::format("      const float v{} = {};\n", i, number(*scalar_value(input.operand.constant)));
      return;
    }
    const Storage& storage = tactic_.inputs.at(input.operand.index);
    const auto type = type_name(storage.dtype.value_or(input.dtype));
    parameters_.push_back(fmt::format("const {}* __restrict__ a{}", type, i));
    if (sized_) {
      body_ += fmt::format("      const float v{0} = load(a{0}[at{0}]);\n", i);
      return;
    }
    const Shape& shape = input.shape;
    switch (access(shape, storage)) {
    case Access::one:
      before_ += fmt::format("    const float s{0} = load(a{0}[{1}]);\n", i, offset(shape, storage, "first"));
      body_ += fmt::format("      const float v{0} = s{0};\n", i);
      break;
    case Access::dense:
      checks_ += fmt::format("  const bool aligned_a{0} = is_aligned<{1}, {2}>(a{0});\n", i, type, width_);
      before_ +=
          fmt::format("    const Pack<{1}, {2}> q{0} = load_pack<{1}, {2}>(a{0} + {3}, aligned_a{0});\n", i,
                      type, width_, offset(shape, storage, "first"));
      body_ += fmt::format("      const float v{0} = load(q{0}.values[k]);\n", i);
      break;
    case Access::single:
      body_ += fmt::format("      const float v{0} = load(a{0}[{1}]);\n", i,
                           offset(shape, storage, "(first + k)"));
      break;
    }
  }

  bool is_parameter(const ProgramInput& input) const {
    return sized_ ? is_sized_parameter(input) : input.operand.is_input();
  }

  /// For `width_` adjacent elements, aligned to it.
  Access access(const Shape& shape, const Storage& storage) const {
    if (shape.elements() == 1) return Access::one;
    if (width_ == 1) return Access::single;
    if (shape == program_.shape && same_order(storage)) return Access::dense;
    if (axes_.empty() || axes_.back().size % width_ != 0) return Access::single;
    const std::vector<std::int64_t> strides = strides_along(shape, storage);
    if (strides.back() == 0) return Access::one;
    const bool divides = std::all_of(strides.begin(), strides.end() - 1,
                                     [&](std::int64_t stride) { return stride % width_ == 0; });
    return strides.back() == 1 && divides ? Access::dense : Access::single;
  }

  /// Operand stride along each of `axes_`.
  std::vector<std::int64_t> strides_along(const Shape& shape, const Storage& storage) const {
    const std::vector<std::int64_t> own = memory_strides(storage, shape);
    const std::size_t missing = program_.shape.rank() - shape.rank();
    std::vector<std::int64_t> strides;
    for (const MemoryAxis& axis : axes_)
      strides.push_back(axis.dim >= missing && shape[axis.dim - missing] != 1 ? own[axis.dim - missing] : 0);
    return strides;
  }

  static std::string sizes() {
    return fmt::format("struct Sizes {{ index_t elements, axes, sizes[{0}], strides[{1}][{0}]; }};\n",
                       max_sized_axes, max_sized_operands);
  }

  /// Addresses of element i's operands, from strides given at launch.
  void find_operands() {
    std::string starts, steps, ends;
    int k = 0;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      if (!is_parameter(program_.inputs[i])) continue;
      starts += fmt::format("    index_t at{} = 0;\n", i);
      steps += fmt::format("      at{} += index * p.strides[{}][axis];\n", i, k);
      ends += fmt::format("    at{} += rest * p.strides[{}][0];\n", i, k++);
    }
    before_ += fmt::format(
        "{}    index_t rest = i;\n"
        "    for (index_t axis = p.axes - 1; axis > 0; --axis) {{\n"
        "      const index_t outer = rest / p.sizes[axis], index = rest - outer * p.sizes[axis];\n"
        "      rest = outer;\n{}    }}\n{}",
        starts, steps, ends);
  }

  /// Offset of element `number` (an expression) of the result in an operand, or in the result itself.
  std::string offset(const Shape& shape, const Storage& storage, const std::string& number) const {
    if (shape.elements() == 1) return "0";
    if (shape == program_.shape && same_order(storage)) return number;
    const std::vector<std::int64_t> strides = strides_along(shape, storage);
    std::string sum;
    std::int64_t inner = 1;
    for (std::size_t axis = axes_.size(); axis-- > 0;) {
      std::int64_t size = axes_[axis].size;
      const std::int64_t stride = strides[axis];
      // Merges axes that are contiguous.
      while (stride != 0 && axis > 0 && strides[axis - 1] == stride * size) size *= axes_[--axis].size;
      if (stride != 0)
        sum += fmt::format("{}index_t({} / {} % {}) * {}ll", sum.empty() ? "(" : " + ", number, inner, size,
                           stride);
      inner *= size;
    }
    return sum.empty() ? "0" : sum + ")";
  }

  bool same_order(const Storage& storage) const {
    return !storage.within && canonical(storage.layout, program_.shape) ==
                                  canonical(tactic_.outputs.at(0).layout, program_.shape);
  }

  void compute(const TileInstruction& instruction) {
    std::vector<std::string> operands;
    for (const int operand : instruction.operands)
      if (operand >= 0) operands.push_back(fmt::format("v{}", operand));
    body_ += fmt::format("      v{} = {};\n", instruction.out,
                         formula_text(*instruction.formula, instruction.numbers, operands));
  }

  void write(std::size_t i) {
    const ProgramOutput& output = program_.outputs[i];
    const auto type = type_name(tactic_.outputs.at(i).dtype.value_or(output.dtype));
    const Storage& storage = tactic_.outputs.at(i);
    parameters_.push_back(fmt::format("{}* __restrict__ o{}", type, i));
    const auto stored = fmt::format("Store<{}>::of(v{})", type, output.slot);
    if (sized_ || access(program_.shape, storage) != Access::dense) {
      const std::string at = sized_ ? "i" : offset(program_.shape, storage, "(first + k)");
      body_ += fmt::format("      o{}[{}] = {};\n", i, at, stored);
      return;
    }
    checks_ += fmt::format("  const bool aligned_o{0} = is_aligned<{1}, {2}>(o{0});\n", i, type, width_);
    before_ += fmt::format("    Pack<{}, {}> r{};\n", type, width_, i);
    body_ += fmt::format("      r{}.values[k] = {};\n", i, stored);
    behind_ += fmt::format("    store_pack<{1}, {2}>(o{0} + {3}, r{0}, aligned_o{0});\n", i, type, width_,
                           offset(program_.shape, storage, "first"));
  }

  const ElementwiseProgram& program_;
  const Tactic& tactic_;
  bool sized_;
  std::vector<MemoryAxis> axes_; ///< The result's axes, outermost first.
  int width_;                    ///< Adjacent elements per thread.
  std::vector<std::string> parameters_;
  std::string checks_, loop_, before_, body_, behind_; ///< In the order of the source.
};

/// Element size of the widest value that is read or written in full.
std::int64_t widest_element(const ElementwiseProgram& program, const Tactic& tactic) {
  std::int64_t bytes = 1;
  const auto count = [&](const Shape& shape, const Storage& storage, DType type) {
    if (shape == program.shape)
      bytes = std::max(bytes, static_cast<std::int64_t>(bit_width(storage.dtype.value_or(type)) / 8));
  };
  for (const ProgramInput& input : program.inputs)
    if (input.operand.is_input()) count(input.shape, tactic.inputs.at(input.operand.index), input.dtype);
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    count(program.shape, tactic.outputs.at(i), program.outputs[i].dtype);
  return bytes;
}

} // namespace

int elementwise_width(const ElementwiseProgram& program, const Tactic& tactic) {
  constexpr std::int64_t access_bytes = 16, most = 8;
  constexpr std::int64_t enough_threads = 1 << 15; // To fill a GPU.
  const std::int64_t elements = program.shape.elements();
  std::int64_t width = std::min(most, access_bytes / widest_element(program, tactic));
  while (width > 1 && (elements % width != 0 || elements / width < enough_threads)) width /= 2;
  return static_cast<int>(std::max<std::int64_t>(width, 1));
}

std::string elementwise_source(const ElementwiseProgram& program, const Tactic& tactic) {
  return Writer(program, tactic, false).run();
}

std::string sized_source(const ElementwiseProgram& program, const Tactic& tactic) {
  return Writer(program, tactic, true).run();
}

std::string sized_name(const ElementwiseProgram& program) {
  return fmt::format("sized_{}", program.instructions.back().formula->name);
}

bool is_sized_parameter(const ProgramInput& input) {
  return input.operand.is_input() && !scalar_value(input.operand.constant);
}

std::optional<SizedElements> sized_elements(const ElementwiseProgram& program) {
  SizedElements sized;
  sized.elements = program.shape.elements();
  std::vector<std::vector<std::int64_t>> strides; // along the result's axes
  for (const ProgramInput& input : program.inputs) {
    if (!is_sized_parameter(input)) continue;
    const Shape& shape = input.shape;
    std::vector<std::int64_t> own = Layout{}.strides(shape);
    for (std::size_t d = 0; d < own.size(); ++d)
      if (shape[d] == 1) own[d] = 0;
    own.insert(own.begin(), program.shape.rank() - shape.rank(), 0);
    strides.push_back(std::move(own));
  }
  if (strides.size() > max_sized_operands) return std::nullopt;
  for (std::size_t axis = 0; axis < program.shape.rank(); ++axis) {
    const std::int64_t size = program.shape[axis];
    if (size == 1) continue;
    // Merges axes that are contiguous.
    const std::int64_t last = sized.axes - 1;
    bool joins = last >= 0;
    for (std::size_t k = 0; joins && k < strides.size(); ++k)
      joins = sized.strides[k][last] == size * strides[k][axis];
    if (!joins && sized.axes == max_sized_axes) return std::nullopt;
    const std::int64_t to = joins ? last : sized.axes++;
    sized.sizes[to] = joins ? sized.sizes[to] * size : size;
    for (std::size_t k = 0; k < strides.size(); ++k) sized.strides[k][to] = strides[k][axis];
  }
  return sized;
}

} // namespace lanner::cuda
