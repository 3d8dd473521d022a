#include "backends/cuda/elementwise_source.h"

#include <cmath>

#include <fmt/format.h>

#include <lanner/error.h>

#include "backends/group.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "base/joined.h"
#include "graph/within.h"

namespace lanner::cuda {
namespace {

/// What every kernel may call, formulas (ops/formula.cpp) among others. NVRTC finds no headers by itself:
/// halves are bits that instructions of the GPU convert.
constexpr const char* prelude = R"(#define INF __int_as_float(0x7f800000)
#define NAN_ __int_as_float(0x7fffffff)
typedef long long index_t;
template<typename T> __device__ inline float load(T x) { return static_cast<float>(x); }
struct half_t { unsigned short bits; };
struct bf16_t { unsigned short bits; };
template<> __device__ inline float load(half_t x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
}
template<> __device__ inline float load(bf16_t x) { return __int_as_float(static_cast<int>(x.bits) << 16); }
__device__ inline half_t to_half(float x) {
  half_t result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
}
__device__ inline bf16_t to_bf16(float x) {
  const unsigned bits = static_cast<unsigned>(__float_as_int(x));
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<unsigned short>(nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
template<typename T> struct Store { static __device__ inline T of(float x) { return static_cast<T>(x); } };
template<> struct Store<bool> { static __device__ inline bool of(float x) { return x != 0.0f; } };
template<> struct Store<half_t> { static __device__ inline half_t of(float x) { return to_half(x); } };
template<> struct Store<bf16_t> { static __device__ inline bf16_t of(float x) { return to_bf16(x); } };
__device__ inline float at_least(float x, float low) { return x < low ? low : x; }
__device__ inline float at_most(float x, float high) { return x > high ? high : x; }
__device__ inline float smaller(float x, float y) { return x < y || x != x ? x : y; }
__device__ inline float larger(float x, float y) { return x > y || x != x ? x : y; }
__device__ inline float truth(bool x) { return x ? 1.0f : 0.0f; }
)";

std::string_view type_name(DType type) {
  switch (type) {
  case DType::f32:
    return "float";
  case DType::f64:
    return "double";
  case DType::f16:
    return "half_t";
  case DType::bf16:
    return "bf16_t";
  case DType::boolean:
    return "bool";
  case DType::i8:
    return "signed char";
  case DType::u8:
    return "unsigned char";
  case DType::i16:
    return "short";
  case DType::u16:
    return "unsigned short";
  case DType::i32:
    return "int";
  case DType::u32:
    return "unsigned int";
  case DType::i64:
    return "long long";
  case DType::u64:
    return "unsigned long long";
  default:
    fail(ErrorCode::internal, "cuda: elementwise: no element of type {}", to_string(type));
  }
}

/// A float that reads back exactly.
std::string number(float value) {
  if (std::isnan(value)) return "NAN_";
  if (std::isinf(value)) return value > 0 ? "INF" : "(-INF)";
  return fmt::format("({:a}f)", value);
}

class Writer {
public:
  /// `sized`: sizes are parameters.
  Writer(const ElementwiseProgram& program, const Tactic& tactic, bool sized)
      : program_(program), tactic_(tactic), sized_(sized),
        axes_(memory_axes(tactic.outputs.at(0).layout, program.shape)) {}

  std::string run() {
    body_ += fmt::format(
        "  const index_t step = index_t(gridDim.x) * blockDim.x;\n"
        "  for (index_t i = index_t(blockIdx.x) * blockDim.x + threadIdx.x; i < {}; i += step) {{\n",
        sized_ ? "p.elements" : fmt::format("{}ll", program_.shape.elements()));
    if (sized_) find_operands();
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) read(i);
    for (std::size_t r = 0; r < static_cast<std::size_t>(program_.registers); ++r)
      body_ += fmt::format("    float v{};\n", program_.inputs.size() + r);
    for (const TileInstruction& instruction : program_.instructions) compute(instruction);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) write(i);
    if (sized_) parameters_.emplace_back("const Sizes p");
    return fmt::format("{}{}extern \"C\" __global__ void __launch_bounds__(256) {}({}) {{\n{}  }}\n}}\n",
                       prelude, sized_ ? sizes() : "", sized_ ? sized_name(program_) : "elementwise",
                       joined(parameters_, ", "), body_);
  }

private:
  void read(std::size_t i) {
    const ProgramInput& input = program_.inputs[i];
    if (!is_parameter(input)) {
      body_ += fmt::format("    const float v{} = {};\n", i, number(*scalar_value(input.operand.constant)));
      return;
    }
    const Storage& storage = tactic_.inputs.at(input.operand.index);
    parameters_.push_back(
        fmt::format("const {}* __restrict__ a{}", type_name(storage.dtype.value_or(input.dtype)), i));
    body_ += fmt::format("    const float v{0} = load(a{0}[{1}]);\n", i,
                         sized_ ? fmt::format("at{}", i) : offset(input.operand.shape(), storage));
  }

  bool is_parameter(const ProgramInput& input) const {
    return sized_ ? is_sized_parameter(input) : input.operand.is_input();
  }

  static std::string sizes() {
    return fmt::format("struct Sizes {{ index_t elements, axes, sizes[{0}], strides[{1}][{0}]; }};\n",
                       max_sized_axes, max_sized_operands);
  }

  /// Where element i of the result finds its operands, by strides that a launch gives.
  void find_operands() {
    std::string starts, steps, ends;
    int k = 0;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      if (!is_parameter(program_.inputs[i])) continue;
      starts += fmt::format("    index_t at{} = 0;\n", i);
      steps += fmt::format("      at{} += index * p.strides[{}][axis];\n", i, k);
      ends += fmt::format("    at{} += rest * p.strides[{}][0];\n", i, k++);
    }
    body_ += fmt::format(
        "{}    index_t rest = i;\n"
        "    for (index_t axis = p.axes - 1; axis > 0; --axis) {{\n"
        "      const index_t outer = rest / p.sizes[axis], index = rest - outer * p.sizes[axis];\n"
        "      rest = outer;\n{}    }}\n{}",
        starts, steps, ends);
  }

  /// Where element i of the result finds its operand, or itself.
  std::string offset(const Shape& shape, const Storage& storage) const {
    if (shape.elements() == 1) return "0";
    if (shape == program_.shape && same_order(storage)) return "i";
    const std::vector<std::int64_t> strides = memory_strides(storage, shape);
    const std::size_t missing = program_.shape.rank() - shape.rank();
    std::string sum;
    std::int64_t inner = 1;
    for (auto axis = axes_.rbegin(); axis != axes_.rend();) {
      const bool there = axis->dim >= missing && shape[axis->dim - missing] != 1;
      std::int64_t size = axis->size;
      const std::int64_t stride = there ? strides[axis->dim - missing] : 0;
      // Axes that go on where the one within them ends are one.
      for (++axis; there && axis != axes_.rend() && axis->dim >= missing &&
                   shape[axis->dim - missing] == axis->size && strides[axis->dim - missing] == stride * size;
           ++axis)
        size *= axis->size;
      if (there)
        sum += fmt::format("{}i / {}ll % {}ll * {}ll", sum.empty() ? "" : " + ", inner, size, stride);
      inner *= size;
    }
    return sum.empty() ? "0" : sum;
  }

  bool same_order(const Storage& storage) const {
    return !storage.within && canonical(storage.layout, program_.shape) ==
                                  canonical(tactic_.outputs.at(0).layout, program_.shape);
  }

  void compute(const TileInstruction& instruction) {
    std::string text = instruction.formula->cuda;
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    };
    const char* const names[] = {"{x}", "{y}", "{z}"};
    for (int k = 0; k < 3; ++k)
      if (instruction.operands[k] >= 0) replace(names[k], fmt::format("v{}", instruction.operands[k]));
    replace("{p}", number(instruction.numbers.p));
    replace("{q}", number(instruction.numbers.q));
    body_ += fmt::format("    v{} = {};\n", instruction.out, text);
  }

  void write(std::size_t i) {
    const ProgramOutput& output = program_.outputs[i];
    const auto type = type_name(tactic_.outputs.at(i).dtype.value_or(output.dtype));
    parameters_.push_back(fmt::format("{}* __restrict__ o{}", type, i));
    body_ += fmt::format("    o{}[{}] = Store<{}>::of(v{});\n", i,
                         sized_ ? "i" : offset(program_.shape, tactic_.outputs.at(i)), type, output.slot);
  }

  const ElementwiseProgram& program_;
  const Tactic& tactic_;
  bool sized_;
  std::vector<MemoryAxis> axes_; ///< Of the result, outermost first.
  std::vector<std::string> parameters_;
  std::string body_;
};

} // namespace

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
    const Shape shape = input.operand.shape();
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
    // Axes that go on where the one within them ends are one.
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
