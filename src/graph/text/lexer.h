#pragma once
// Tokens of the text form, shared by dims, types and graphs.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/error.h>
#include <lanner/limits.h>

#include "graph/type/type.h"

namespace lanner {

enum class TokenKind : std::uint8_t { end, name, integer, real, string, value, mark };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;       ///< Name, unescaped string, value name without `%`, digits, or the mark itself.
  std::size_t offset = 0; ///< Offset of its first byte.
};

/// Reads tokens from text that it does not own. Inside `[ ]` the marks `//` and `%` are operators of dims;
/// elsewhere `//` starts a comment and `%` a value name. Errors are Error{bad_data} with `line:column`.
class Lexer {
public:
  /// `in_dims`: the text is a dim or a type, as if within brackets.
  explicit Lexer(std::string_view text, const Limits& limits = {}, bool in_dims = false);

  const Token& peek();
  Token next();
  bool at(std::string_view mark) { return peek().kind == TokenKind::mark && peek().text == mark; }
  bool at_name(std::string_view name) { return peek().kind == TokenKind::name && peek().text == name; }
  bool take(std::string_view mark); ///< Takes the mark if it is next.
  bool take_name(std::string_view name);
  void expect(std::string_view mark);
  Token expect(TokenKind kind, std::string_view what);
  std::int64_t integer(std::string_view what);                ///< With an optional sign.
  std::int64_t integer(std::string_view what, bool negative); ///< The sign was read already.
  double real(std::string_view what);  ///< With an optional sign; also `inf`, `nan` and integers.
  float real32(std::string_view what); ///< Rounded once, from the digits.
  std::uint64_t unsigned_integer(std::string_view what);
  std::string hex(); ///< A run of hexadecimal digits, returned as bytes.
  void expect_end();

  /// Whether an error that includes its position was thrown.
  bool failed() const noexcept { return failed_; }
  [[noreturn]] void fail_at(std::size_t offset, std::string_view message,
                            ErrorCode code = ErrorCode::bad_data) const;
  /// limit_message() (base/limits/limit_error.h) with the position.
  [[noreturn]] void fail_limit(std::size_t offset, std::string_view name, std::uint64_t bound,
                               std::string_view found) const;
  [[noreturn]] void
  fail_expected(std::string_view what); ///< `expected WHAT, found TOKEN`, at the next token.

  const Limits& limits() const noexcept { return limits_; }

  /// Counts nesting of types, dims and regions against Limits::depth for the life of the object.
  class Depth {
  public:
    explicit Depth(Lexer& lexer);
    ~Depth() { --lexer_.depth_; }
    Depth(const Depth&) = delete;

  private:
    Lexer& lexer_;
  };

private:
  template<typename T>
  T number(const Token& token, std::string_view digits, std::string_view what) const;
  template<typename T>
  T real_number(std::string_view what);
  void skip_blank();
  Token read();
  Token read_number();
  Token read_value();
  std::string read_string();
  char read_escape();
  char current(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  std::string_view text_;
  mutable bool failed_ = false;
  Limits limits_;
  std::size_t position_ = 0;
  std::uint32_t brackets_ = 0;
  std::uint32_t depth_ = 0;
  bool peeked_ = false;
  Token token_;
};

std::optional<DType> dtype_named(std::string_view name); ///< By its text form only.
Dim parse_dim(Lexer& lexer);
Type parse_type(Lexer& lexer);
Type parse_dims_of(Lexer& lexer, DType dtype); ///< From the bracket on.

/// `"text"` with escapes, in the form that the lexer reads.
std::string in_quotes(std::string_view text);
/// The shortest text that reads back as `value`, with a point or an exponent.
std::string real_text(double value);
bool is_simple_name(std::string_view name);    ///< Needs no quotes after `%`.
std::string value_name(std::string_view name); ///< With `%`, quoted where it must be.

} // namespace lanner
