#include "graph/type/dim.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/type/dim_terms.h"

namespace lanner {

// Limits far above any real model; they keep untrusted or degenerate expressions from using too much time
// and stack.
static constexpr std::size_t max_terms = 256;
static constexpr std::size_t max_degree = 64;
static constexpr std::uint32_t max_depth = 64;
static constexpr std::uint32_t max_size = 4096;

[[noreturn]] static void overflow() {
  fail(ErrorCode::limit_exceeded, "dim: a size does not fit 64 bits");
}

static std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}

static std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

static std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  check(b != 0, ErrorCode::invalid_argument, "dim: division of {} by 0", a);
  if (a == INT64_MIN && b == -1) overflow();
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}

static std::int64_t remainder(std::int64_t a, std::int64_t b) {
  check(b != 0, ErrorCode::invalid_argument, "dim: division of {} by 0", a);
  if (b == -1) return 0;
  std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::strong_ordering compare(const Atom& a, const Atom& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (auto order = a.kind <=> b.kind; order != 0) return order;
  if (auto order = a.name <=> b.name; order != 0) return order;
  if (auto order = compare(a.a, b.a); order != 0) return order;
  return compare(a.b, b.b);
}

// Graded order, which multiplication preserves; polynomial division needs that.
std::strong_ordering compare_atoms(const Term& a, const Term& b) {
  if (auto order = b.atoms.size() <=> a.atoms.size(); order != 0) return order;
  for (std::size_t i = 0; i < a.atoms.size(); ++i) {
    if (auto order = compare(*a.atoms[i], *b.atoms[i]); order != 0) return order;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering compare(const Dim& a, const Dim& b) {
  if (DimAccess::normal(a) == DimAccess::normal(b) && !a.is_constant()) return std::strong_ordering::equal;
  if (a.is_constant() && b.is_constant()) return a.value() <=> b.value();
  if (a.is_constant() != b.is_constant()) return a.is_constant() <=> b.is_constant();
  const auto &left = DimAccess::normal(a)->terms, &right = DimAccess::normal(b)->terms;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (auto order = compare_atoms(left[i], right[i]); order != 0) return order;
    if (auto order = left[i].factor <=> right[i].factor; order != 0) return order;
  }
  return left.size() <=> right.size();
}

std::vector<Term> DimAccess::terms(const Dim& dim) {
  if (dim.terms_) return dim.terms_->terms;
  if (dim.constant_ == 0) return {};
  return {Term{dim.constant_, {}}};
}

static void measure(Dim::Terms& normal) {
  normal.size = 0;
  normal.depth = 1;
  for (const Term& term : normal.terms) {
    check(term.atoms.size() <= max_degree, ErrorCode::limit_exceeded,
          "dim: a product of more than {} symbols", max_degree);
    normal.size += 1;
    for (const AtomPtr& atom : term.atoms) {
      for (const Dim* part : {&atom->a, &atom->b}) {
        const Dim::Terms* inner = DimAccess::normal(*part);
        normal.size += inner ? inner->size : 1;
        if (inner) normal.depth = std::max(normal.depth, inner->depth + 1);
      }
      check(normal.size <= max_size, ErrorCode::limit_exceeded, "dim: an expression of more than {} parts",
            max_size);
    }
  }
  check(normal.depth <= max_depth, ErrorCode::limit_exceeded, "dim: an expression nested deeper than {}",
        max_depth);
}

Dim DimAccess::make(std::vector<Term> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return compare_atoms(a, b) < 0; });
  std::vector<Term> merged;
  for (Term& term : terms) {
    if (!merged.empty() && compare_atoms(merged.back(), term) == 0) {
      merged.back().factor = add(merged.back().factor, term.factor);
    } else {
      if (!merged.empty() && merged.back().factor == 0) merged.pop_back();
      merged.push_back(std::move(term));
    }
  }
  if (!merged.empty() && merged.back().factor == 0) merged.pop_back();
  if (merged.empty()) return Dim(0);
  if (merged.size() == 1 && merged[0].atoms.empty()) return Dim(merged[0].factor);
  check(merged.size() <= max_terms, ErrorCode::limit_exceeded, "dim: a sum of more than {} terms", max_terms);
  auto normal = std::make_shared<Dim::Terms>();
  normal->terms = std::move(merged);
  measure(*normal);
  Dim result;
  result.terms_ = std::move(normal);
  return result;
}

static Dim from_atom(Atom atom) {
  return DimAccess::make({Term{1, {std::make_shared<const Atom>(std::move(atom))}}});
}

static bool is_symbol_name(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || c == '.' ||
           (static_cast<unsigned char>(c) < 128 && std::isalnum(static_cast<unsigned char>(c)));
  });
}

Dim Dim::symbol(std::string name) {
  check(is_symbol_name(name), ErrorCode::invalid_argument,
        "dim: \"{}\" is not a symbol name; expected a letter or _, then letters, digits, _ and .", name);
  return from_atom({AtomKind::symbol, std::move(name), {}, {}});
}

std::int64_t Dim::value() const {
  check(is_constant(), ErrorCode::internal, "dim: {} is not constant", is_constant() ? "" : to_string());
  return constant_;
}

std::optional<std::int64_t> Dim::constant() const noexcept {
  if (terms_) return std::nullopt;
  return constant_;
}

std::optional<std::string> Dim::as_symbol() const {
  if (!terms_ || terms_->terms.size() != 1) return std::nullopt;
  const Term& term = terms_->terms[0];
  if (term.factor != 1 || term.atoms.size() != 1 || term.atoms[0]->kind != AtomKind::symbol)
    return std::nullopt;
  return term.atoms[0]->name;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(add(a.constant_, b.constant_));
  std::vector<Term> terms = DimAccess::terms(a);
  for (Term& term : DimAccess::terms(b)) terms.push_back(std::move(term));
  return DimAccess::make(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) {
  std::int64_t difference;
  if (a.is_constant() && b.is_constant()) {
    if (__builtin_sub_overflow(a.constant_, b.constant_, &difference)) overflow();
    return Dim(difference);
  }
  return a + b * Dim(-1);
}

static Term multiply(const Term& a, const Term& b) {
  Term product{multiply(a.factor, b.factor), {}};
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
             std::back_inserter(product.atoms),
             [](const AtomPtr& x, const AtomPtr& y) { return compare(*x, *y) < 0; });
  return product;
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(multiply(a.constant_, b.constant_));
  std::vector<Term> products;
  const std::vector<Term> left = DimAccess::terms(a), right = DimAccess::terms(b);
  for (const Term& x : left) {
    for (const Term& y : right) products.push_back(multiply(x, y));
  }
  return DimAccess::make(std::move(products));
}

bool operator==(const Dim& a, const Dim& b) {
  return compare(a, b) == 0;
}

// term / by, when all of by's atoms occur in term and its factor divides.
static std::optional<Term> divide(const Term& term, const Term& by) {
  if (by.factor == 0 || remainder(term.factor, by.factor) != 0) return std::nullopt;
  Term quotient{floor_quotient(term.factor, by.factor), {}};
  std::size_t taken = 0;
  for (const AtomPtr& atom : term.atoms) {
    if (taken < by.atoms.size() && compare(*atom, *by.atoms[taken]) == 0) {
      ++taken;
    } else {
      quotient.atoms.push_back(atom);
    }
  }
  if (taken < by.atoms.size()) return std::nullopt;
  return quotient;
}

static std::optional<Dim> divide_exactly(const Dim& a, const Dim& b) {
  const std::vector<Term> divisor = DimAccess::terms(b);
  std::vector<Term> quotient;
  Dim rest = a;
  for (std::size_t step = 0; step < max_terms; ++step) {
    if (rest == Dim(0)) return DimAccess::make(std::move(quotient));
    std::optional<Term> part = divide(DimAccess::terms(rest)[0], divisor[0]);
    if (!part) return std::nullopt;
    quotient.push_back(*part);
    rest = rest - DimAccess::make({*part}) * b;
  }
  return std::nullopt;
}

// a = divisor * whole + rest; the factors of rest are in [0, divisor).
static void split(const Dim& a, std::int64_t divisor, Dim& whole, Dim& rest) {
  std::vector<Term> multiples, others;
  for (const Term& term : DimAccess::terms(a)) {
    const std::int64_t times = floor_quotient(term.factor, divisor), left = remainder(term.factor, divisor);
    if (times != 0) multiples.push_back({times, term.atoms});
    if (left != 0) others.push_back({left, term.atoms});
  }
  whole = DimAccess::make(std::move(multiples));
  rest = DimAccess::make(std::move(others));
}

// floor((floor(x / d) + k) / c) = floor((x + k d) / (c d)) for positive c and d.
static std::optional<Dim> merge_divisions(const Dim& rest, std::int64_t divisor) {
  const std::vector<Term> terms = DimAccess::terms(rest);
  const Term& first = terms[0];
  if (first.factor != 1 || first.atoms.size() != 1 || first.atoms[0]->kind != AtomKind::floor_div)
    return std::nullopt;
  if (terms.size() > 2 || (terms.size() == 2 && !terms[1].atoms.empty())) return std::nullopt;
  const std::optional<std::int64_t> inner = first.atoms[0]->b.constant();
  if (!inner || *inner <= 0) return std::nullopt;
  const std::int64_t shift = terms.size() == 2 ? terms[1].factor : 0;
  return floor_div(first.atoms[0]->a + Dim(multiply(shift, *inner)), Dim(multiply(divisor, *inner)));
}

static Dim divide_by_constant(const Dim& a, std::int64_t divisor) {
  if (divisor < 0) return divide_by_constant(a * Dim(-1), multiply(divisor, -1));
  Dim whole, rest;
  split(a, divisor, whole, rest);
  if (rest.is_constant()) return whole;
  std::vector<Term> terms = DimAccess::terms(rest);
  std::int64_t common = divisor;
  for (const Term& term : terms) {
    if (!term.atoms.empty()) common = std::gcd(common, term.factor);
  }
  if (common > 1) {
    for (Term& term : terms) term.factor = floor_quotient(term.factor, common);
    std::erase_if(terms, [](const Term& term) { return term.factor == 0; });
    rest = DimAccess::make(std::move(terms));
    divisor /= common;
  }
  if (std::optional<Dim> merged = merge_divisions(rest, divisor)) return whole + *merged;
  return whole + from_atom({AtomKind::floor_div, {}, rest, Dim(divisor)});
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(floor_quotient(a.constant_, b.constant_));
  check(!(b == Dim(0)), ErrorCode::invalid_argument, "dim: division of {} by 0", a.to_string());
  if (b.is_constant()) return divide_by_constant(a, b.constant_);
  if (a == Dim(0)) return a;
  if (std::optional<Dim> exact = divide_exactly(a, b)) return *exact;
  return from_atom({AtomKind::floor_div, {}, a, b});
}

Dim ceil_div(const Dim& a, const Dim& b) {
  return floor_div(a + b - Dim(1), b);
}

Dim mod(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(remainder(a.constant_, b.constant_));
  check(!(b == Dim(0)), ErrorCode::invalid_argument, "dim: division of {} by 0", a.to_string());
  if (a == Dim(0)) return a;
  if (b.is_constant() && b.constant_ > 0) {
    Dim whole, rest;
    split(a, b.constant_, whole, rest);
    return rest.is_constant() ? rest : from_atom({AtomKind::mod, {}, rest, b});
  }
  if (divide_exactly(a, b)) return Dim(0);
  return from_atom({AtomKind::mod, {}, a, b});
}

// min(a, min(a, b)) = min(a, b)
static bool holds_operand(const Dim& expression, AtomKind kind, const Dim& operand) {
  const Dim::Terms* normal = DimAccess::normal(expression);
  if (!normal || normal->terms.size() != 1) return false;
  const Term& term = normal->terms[0];
  if (term.factor != 1 || term.atoms.size() != 1 || term.atoms[0]->kind != kind) return false;
  return term.atoms[0]->a == operand || term.atoms[0]->b == operand;
}

static Dim extreme(AtomKind kind, const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.is_constant()) return (difference.value() < 0) == (kind == AtomKind::min) ? a : b;
  if (holds_operand(a, kind, b)) return a;
  if (holds_operand(b, kind, a)) return b;
  return compare(a, b) < 0 ? from_atom({kind, {}, a, b}) : from_atom({kind, {}, b, a});
}

Dim min(const Dim& a, const Dim& b) {
  return extreme(AtomKind::min, a, b);
}
Dim max(const Dim& a, const Dim& b) {
  return extreme(AtomKind::max, a, b);
}

Dim apply(AtomKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
  case AtomKind::floor_div:
    return floor_div(a, b);
  case AtomKind::mod:
    return mod(a, b);
  case AtomKind::min:
    return min(a, b);
  case AtomKind::max:
    return max(a, b);
  case AtomKind::symbol:
    break;
  }
  fail(ErrorCode::internal, "dim: a symbol takes no operands");
}

Dim product(const Dims& dims) {
  Dim result(1);
  for (const Dim& dim : dims) result = result * dim;
  return result;
}

} // namespace lanner
