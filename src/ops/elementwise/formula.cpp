#include "ops/elementwise/formula.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/attribute.h"
#include "ops/formulas/all.h"

namespace lanner {
namespace formulas {
namespace {

/// An element type that records the formula: as CUDA C++, and its cost.
class Symbol {
public:
  explicit Symbol(std::string text, FormulaWeight weight = FormulaWeight::light)
      : text_(std::move(text)), weight_(weight) {}
  template<typename Literal>
  requires std::is_arithmetic_v<Literal>
  Symbol(Literal value) // NOLINT(google-explicit-constructor): formulas contain literals
      : text_(fmt::format("{:a}f", static_cast<float>(value))) {}

  const std::string& text() const { return text_; }
  FormulaWeight weight() const { return weight_; }

  /// A boolean expression.
  struct Claim {
    std::string text;
    FormulaWeight weight;
  };

  friend Symbol operator+(const Symbol& a, const Symbol& b) { return a.join('+', b); }
  friend Symbol operator-(const Symbol& a, const Symbol& b) { return a.join('-', b); }
  friend Symbol operator*(const Symbol& a, const Symbol& b) { return a.join('*', b); }
  friend Symbol operator/(const Symbol& a, const Symbol& b) { return a.join('/', b); }
  friend Symbol operator-(const Symbol& a) { return call(light, "-", a); }
  friend Claim operator<(const Symbol& a, const Symbol& b) { return a.compare("<", b); }
  friend Claim operator<=(const Symbol& a, const Symbol& b) { return a.compare("<=", b); }
  friend Claim operator>(const Symbol& a, const Symbol& b) { return a.compare(">", b); }
  friend Claim operator>=(const Symbol& a, const Symbol& b) { return a.compare(">=", b); }
  friend Claim operator==(const Symbol& a, const Symbol& b) { return a.compare("==", b); }
  friend Claim operator!=(const Symbol& a, const Symbol& b) { return a.compare("!=", b); }
  friend Symbol choose(const Claim& condition, const Symbol& a, const Symbol& b) {
    return Symbol(fmt::format("({} ? {} : {})", condition.text, a.text_, b.text_),
                  std::max({condition.weight, a.weight_, b.weight_}));
  }

  friend Symbol multiply_add(const Symbol& a, const Symbol& b, const Symbol& c) {
    return call(light, "fmaf", a, b, c);
  }
  friend Symbol at_least(const Symbol& x, const Symbol& bound) { return call(light, "at_least", x, bound); }
  friend Symbol at_most(const Symbol& x, const Symbol& bound) { return call(light, "at_most", x, bound); }
  friend Symbol smaller(const Symbol& x, const Symbol& y) { return call(light, "smaller", x, y); }
  friend Symbol larger(const Symbol& x, const Symbol& y) { return call(light, "larger", x, y); }
  friend Symbol abs(const Symbol& x) { return call(light, "fabsf", x); }
  friend Symbol sqrt(const Symbol& x) { return call(light, "sqrtf", x); }
  friend Symbol floor(const Symbol& x) { return call(light, "floorf", x); }
  friend Symbol ceil(const Symbol& x) { return call(light, "ceilf", x); }
  friend Symbol round(const Symbol& x) { return call(light, "rintf", x); }
  friend Symbol exp(const Symbol& x) { return call(heavy, "expf", x); }
  friend Symbol expm1(const Symbol& x) { return call(heavy, "expm1f", x); }
  friend Symbol log(const Symbol& x) { return call(heavy, "logf", x); }
  friend Symbol log1p(const Symbol& x) { return call(heavy, "log1pf", x); }
  friend Symbol tanh(const Symbol& x) { return call(heavy, "tanhf", x); }
  friend Symbol erf(const Symbol& x) { return call(heavy, "erff", x); }
  friend Symbol pow(const Symbol& x, const Symbol& y) { return call(library, "powf", x, y); }
  friend Symbol sin(const Symbol& x) { return call(library, "sinf", x); }
  friend Symbol cos(const Symbol& x) { return call(library, "cosf", x); }
  friend Symbol tan(const Symbol& x) { return call(library, "tanf", x); }
  friend Symbol asin(const Symbol& x) { return call(library, "asinf", x); }
  friend Symbol acos(const Symbol& x) { return call(library, "acosf", x); }
  friend Symbol atan(const Symbol& x) { return call(library, "atanf", x); }
  friend Symbol sinh(const Symbol& x) { return call(library, "sinhf", x); }
  friend Symbol cosh(const Symbol& x) { return call(library, "coshf", x); }
  friend Symbol asinh(const Symbol& x) { return call(library, "asinhf", x); }
  friend Symbol acosh(const Symbol& x) { return call(library, "acoshf", x); }
  friend Symbol atanh(const Symbol& x) { return call(library, "atanhf", x); }

private:
  static constexpr FormulaWeight light = FormulaWeight::light, heavy = FormulaWeight::heavy,
                                 library = FormulaWeight::library;

  Symbol join(char sign, const Symbol& b) const {
    return Symbol(fmt::format("({} {} {})", text_, sign, b.text_), std::max(weight_, b.weight_));
  }
  Claim compare(std::string_view sign, const Symbol& b) const {
    return {fmt::format("({} {} {})", text_, sign, b.text_), std::max(weight_, b.weight_)};
  }
  template<typename... Symbols>
  static Symbol call(FormulaWeight own, std::string_view function, const Symbol& first,
                     const Symbols&... more) {
    std::string arguments = first.text_;
    ((arguments += ", " + more.text_), ...);
    return Symbol(fmt::format("{}({})", function, arguments),
                  std::max({own, first.weight_, more.weight_...}));
  }

  std::string text_;
  FormulaWeight weight_ = FormulaWeight::light;
};

void describe(Formula& formula, const Symbol& result) {
  formula.cuda = result.text();
  formula.weight = result.weight();
}
void describe(Formula& formula, const Symbol::Claim& result) {
  formula.cuda = fmt::format("truth({})", result.text);
  formula.weight = result.weight;
  formula.truth = true;
}

template<typename Row>
Formula made_of(const FormulaText& text, std::size_t index) {
  Formula formula;
  static_cast<FormulaText&>(formula) = text;
  formula.index = index;
  describe(formula, evaluate<Row>(Symbol("{x}"), Symbol("{y}"), Symbol("{z}"), Symbol("{p}"), Symbol("{q}")));
  return formula;
}

template<typename... Rows>
std::vector<Formula> made_of(const List<Rows...>& rows) {
  std::vector<Formula> made;
  made.reserve(rows.size);
  ((made.push_back(made_of<Rows>(rows.texts[made.size()], made.size()))), ...);
  return made;
}

} // namespace
} // namespace formulas

std::span<const Formula> all_formulas() {
  static const std::vector<Formula> made = formulas::made_of(formulas::all);
  return made;
}

const Formula* find_formula(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const Formula*> names;
    for (const Formula& formula : all_formulas()) names.emplace(formula.name, &formula);
    return names;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const Formula& formula(std::string_view name) {
  const Formula* found = find_formula(name);
  check(found != nullptr, ErrorCode::internal, "there is no formula {}", name);
  return *found;
}

FormulaCall call_of(const Formula& given, const AttributeMap& attributes) {
  const FormulaChoice& choice = given.choice;
  const bool other = !choice.attribute.empty() && attributes.string(choice.attribute, "") == choice.value;
  FormulaCall call{other ? &formula(choice.formula) : &given, {}};
  float* const numbers[] = {&call.numbers.p, &call.numbers.q};
  for (int i = 0; i < call.formula->number_count; ++i) {
    const auto& [attribute, fallback] = call.formula->numbers[static_cast<std::size_t>(i)];
    *numbers[i] = static_cast<float>(attributes.real(attribute, fallback));
  }
  return call;
}

} // namespace lanner
