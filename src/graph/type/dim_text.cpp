// Text form of dims.

#include <lanner/error.h>

#include "base/check.h"
#include "graph/text/lexer.h"
#include "graph/type/dim_terms.h"

namespace lanner {

static std::string atom_text(const Atom& atom);

static std::string operand_text(const Dim& dim) {
  const bool simple = dim.as_symbol() || (dim.is_constant() && dim.value() >= 0);
  return simple ? dim.to_string() : "(" + dim.to_string() + ")";
}

static std::string atom_text(const Atom& atom) {
  switch (atom.kind) {
  case AtomKind::symbol:
    return atom.name;
  case AtomKind::floor_div:
    return operand_text(atom.a) + " // " + operand_text(atom.b);
  case AtomKind::mod:
    return operand_text(atom.a) + " % " + operand_text(atom.b);
  case AtomKind::min:
    return "min(" + atom.a.to_string() + ", " + atom.b.to_string() + ")";
  case AtomKind::max:
    return "max(" + atom.a.to_string() + ", " + atom.b.to_string() + ")";
  }
  fail(ErrorCode::internal, "dim: unknown kind of atom");
}

static std::string product_text(const Term& term, std::uint64_t factor) {
  if (term.atoms.empty()) return fmt::format("{}", factor);
  const bool alone = factor == 1 && term.atoms.size() == 1;
  std::string text = factor == 1 ? "" : fmt::format("{}", factor);
  for (const AtomPtr& atom : term.atoms) {
    const bool wrapped = !alone && (atom->kind == AtomKind::floor_div || atom->kind == AtomKind::mod);
    if (!text.empty()) text += "*";
    text += wrapped ? "(" + atom_text(*atom) + ")" : atom_text(*atom);
  }
  return text;
}

std::string Dim::to_string() const {
  if (!terms_) return fmt::format("{}", constant_);
  std::string text;
  for (const Term& term : terms_->terms) {
    const bool negative = term.factor < 0;
    const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(term.factor) : term.factor;
    // Operators are left-associative, so a lone quotient after a minus needs no more than its own precedence.
    if (text.empty()) {
      text = negative ? "-" + product_text(term, size) : product_text(term, size);
    } else {
      text += (negative ? " - " : " + ") + product_text(term, size);
    }
  }
  return text;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (const Dim& dim : dims)
    text += (text.size() == 1 ? std::string() : std::string(", ")).append(dim.to_string());
  return text + "]";
}

static Dim parse_sum(Lexer& lexer);

static Dim parse_call(Lexer& lexer, const std::string& name) {
  if (name != "min" && name != "max") lexer.fail_expected("min or max before `(`");
  lexer.expect("(");
  const Dim a = parse_sum(lexer);
  lexer.expect(",");
  const Dim b = parse_sum(lexer);
  lexer.expect(")");
  return name == "min" ? min(a, b) : max(a, b);
}

static Dim parse_primary(Lexer& lexer) {
  const Lexer::Depth depth(lexer);
  if (lexer.take("-")) return Dim(-1) * parse_primary(lexer);
  if (lexer.take("(")) {
    Dim inner = parse_sum(lexer);
    lexer.expect(")");
    return inner;
  }
  if (lexer.peek().kind == TokenKind::name) {
    std::string name = lexer.next().text;
    if (lexer.at("(")) return parse_call(lexer, name);
    return Dim::symbol(std::move(name));
  }
  if (lexer.peek().kind != TokenKind::integer) lexer.fail_expected("a size");
  return Dim(lexer.integer("size"));
}

static Dim parse_product(Lexer& lexer) {
  Dim result = parse_primary(lexer);
  while (true) {
    if (lexer.take("*")) {
      result = result * parse_primary(lexer);
    } else if (lexer.take("//")) {
      result = floor_div(result, parse_primary(lexer));
    } else if (lexer.take("%")) {
      result = mod(result, parse_primary(lexer));
    } else {
      return result;
    }
  }
}

// `-` before the first product negates the whole product, as printed: -(N // 2).
static Dim parse_sum(Lexer& lexer) {
  Dim result = lexer.take("-") ? Dim(-1) * parse_product(lexer) : parse_product(lexer);
  while (true) {
    if (lexer.take("+")) {
      result = result + parse_product(lexer);
    } else if (lexer.take("-")) {
      result = result - parse_product(lexer);
    } else {
      return result;
    }
  }
}

Dim parse_dim(Lexer& lexer) {
  const std::size_t offset = lexer.peek().offset;
  try {
    return parse_sum(lexer);
  } catch (const Error& error) {
    // Errors of arithmetic have no position in the text.
    if (error.code() == ErrorCode::bad_data) throw;
    lexer.fail_at(offset, error.message());
  }
}

Dim Dim::parse(std::string_view text) {
  Lexer lexer(text, {}, true);
  Dim dim = parse_dim(lexer);
  lexer.expect_end();
  return dim;
}

} // namespace lanner
