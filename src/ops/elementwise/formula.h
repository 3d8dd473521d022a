#pragma once
// Formulas: what an element of an elementwise operator's result is of the elements at its place. Each is
// written once, as a row of a list in ops/formulas/, and means the same to the reference kernel, to the tiles
// of a CPU and in the source of a GPU's kernel.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lanner {

class AttributeMap;

/// What the costliest step of a formula is.
enum class FormulaWeight : std::uint8_t {
  light,   ///< Arithmetic.
  heavy,   ///< A polynomial, as an exponential is.
  library, ///< A function of the C library, number by number.
};

/// A real attribute that a formula reads, rounded to f32 as ONNX's files hold it.
struct FormulaNumber {
  std::string_view attribute; ///< Empty where there is none, or none is read.
  double fallback = 0;
};

/// Where a string attribute of the operator has this value, another formula holds.
struct FormulaChoice {
  std::string_view attribute, value, formula;
};

inline constexpr int max_formula_operands = 3, max_formula_numbers = 2;

/// What a row says.
struct FormulaText {
  std::string_view name; ///< Of the operator, if it is that of one.
  int operands = 1, number_count = 0;
  std::array<FormulaNumber, max_formula_numbers> numbers{};
  FormulaChoice choice{};
};

struct Formula : FormulaText {
  FormulaWeight weight = FormulaWeight::light;
  bool truth = false;    ///< The result is 0 or 1, for false and true.
  std::string cuda;      ///< An expression of floats {x}, {y}, {z} (operands), {p} and {q} (numbers).
  std::size_t index = 0; ///< Among all of them: where a backend's table has it.
};

/// Values of a formula's numbers; 0 where it has none.
struct Numbers {
  float p = 0, q = 0;
  bool operator==(const Numbers&) const = default;
};

/// Every formula, by index. For any thread.
std::span<const Formula> all_formulas();
/// Null where no row has this name.
const Formula* find_formula(std::string_view name);
/// Error{internal} where no row has this name.
const Formula& formula(std::string_view name);

/// The formula that holds for a node of an operator with `formula`, and the numbers that its attributes give.
struct FormulaCall {
  const Formula* formula;
  Numbers numbers;
};
FormulaCall call_of(const Formula& formula, const AttributeMap& attributes);

} // namespace lanner
