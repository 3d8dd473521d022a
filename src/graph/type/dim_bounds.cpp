// Substitution of symbols, and ranges of expressions.

#include <algorithm>
#include <functional>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/type/dim_terms.h"

namespace lanner {

template<typename Lookup>
static Dim rebuild(const Dim& dim, const Lookup& lookup) {
  if (dim.is_constant()) return dim;
  Dim sum;
  for (const Term& term : DimAccess::terms(dim)) {
    Dim product(term.factor);
    for (const AtomPtr& atom : term.atoms) {
      product = product * (atom->kind == AtomKind::symbol
                               ? lookup(atom->name)
                               : apply(atom->kind, rebuild(atom->a, lookup), rebuild(atom->b, lookup)));
    }
    sum = sum + product;
  }
  return sum;
}

Dim Dim::substitute(const DimBindings& values) const {
  return rebuild(*this, [&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? symbol(name) : found->second;
  });
}

Dim Dim::substitute(const Bindings& values) const {
  return rebuild(*this, [&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? symbol(name) : Dim(found->second);
  });
}

std::int64_t Dim::evaluate(const Bindings& values) const {
  const Dim result = rebuild(*this, [&](const std::string& name) {
    const auto found = values.find(name);
    check(found != values.end(), ErrorCode::invalid_argument, "dim: symbol {} has no value in {}", name,
          to_string());
    return Dim(found->second);
  });
  return result.value();
}

void Dim::collect_symbols(std::set<std::string>& into) const {
  if (!terms_) return;
  for (const Term& term : terms_->terms) {
    for (const AtomPtr& atom : term.atoms) {
      if (atom->kind == AtomKind::symbol) {
        into.insert(atom->name);
      } else {
        atom->a.collect_symbols(into);
        atom->b.collect_symbols(into);
      }
    }
  }
}

namespace {

// INT64_MAX and -INT64_MAX mean "no bound".
struct Range {
  std::int64_t low, high;
};

std::int64_t clamp(__int128 value) {
  return static_cast<std::int64_t>(std::clamp<__int128>(value, -INT64_MAX, INT64_MAX));
}

Range times(Range a, Range b) {
  const auto ends = {
      clamp(static_cast<__int128>(a.low) * b.low), clamp(static_cast<__int128>(a.low) * b.high),
      clamp(static_cast<__int128>(a.high) * b.low), clamp(static_cast<__int128>(a.high) * b.high)};
  return {std::min(ends), std::max(ends)};
}

Range quotient(Range a, Range b) {
  if (b.low <= 0 && b.high >= 0) {
    // A run with divisor 0 is an error, so the smallest relevant magnitude is 1.
    const std::int64_t most = std::max(std::abs(a.low), std::abs(a.high));
    const bool negative = a.low < 0 || b.low < 0;
    return {negative ? -most : 0, most};
  }
  Range result{INT64_MAX, -INT64_MAX};
  for (std::int64_t x : {a.low, a.high}) {
    for (std::int64_t y : {b.low, b.high}) {
      const std::int64_t value = x == INT64_MAX && y > 0 ? INT64_MAX : floor_div(Dim(x), Dim(y)).value();
      result = {std::min(result.low, value), std::max(result.high, value)};
    }
  }
  return result;
}

Range remainder(Range a, Range b) {
  if (b.low <= 0) return {std::min<std::int64_t>(b.low, 0), std::max<std::int64_t>(b.high, 0)};
  if (a.low >= 0 && a.high < b.low) return a;
  return {0, a.low >= 0 ? std::min(a.high, b.high - 1) : b.high - 1};
}

Range range_of(const Dim& dim, const Symbols& symbols);

Range range_of(const Atom& atom, const Symbols& symbols) {
  if (atom.kind == AtomKind::symbol) {
    const auto found = symbols.find(atom.name);
    return found == symbols.end() ? Range{0, INT64_MAX} : Range{found->second.min, found->second.max};
  }
  const Range a = range_of(atom.a, symbols), b = range_of(atom.b, symbols);
  switch (atom.kind) {
  case AtomKind::floor_div:
    return quotient(a, b);
  case AtomKind::mod:
    return remainder(a, b);
  case AtomKind::min:
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  default:
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  }
}

Range range_of(const Dim& dim, const Symbols& symbols) {
  if (dim.is_constant()) return {clamp(dim.value()), clamp(dim.value())};
  Range sum{0, 0};
  for (const Term& term : DimAccess::terms(dim)) {
    Range product{clamp(term.factor), clamp(term.factor)};
    for (const AtomPtr& atom : term.atoms) product = times(product, range_of(*atom, symbols));
    sum = {clamp(static_cast<__int128>(sum.low) + product.low),
           clamp(static_cast<__int128>(sum.high) + product.high)};
  }
  return sum;
}

} // namespace

SymbolInfo Dim::bounds(const Symbols& symbols) const {
  const Range range = range_of(*this, symbols);
  SymbolInfo info{range.low, range.high, -1};
  std::set<std::string> names;
  collect_symbols(names);
  Bindings opt;
  for (const std::string& name : names) {
    const auto found = symbols.find(name);
    if (found == symbols.end() || found->second.opt < 0) return info;
    opt[name] = found->second.opt;
  }
  const Dim value = substitute(opt);
  info.opt = value.value();
  return info;
}

} // namespace lanner
