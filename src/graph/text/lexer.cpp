#include "graph/text/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/text/decimal.h"

namespace lanner {

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == '.';
}
static bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}
static int hex_value(char c) {
  return is_digit(c) ? c - '0' : c - 'a' + 10;
}

bool is_simple_name(std::string_view name) {
  return !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), is_name_char);
}

std::string value_name(std::string_view name) {
  return is_simple_name(name) ? fmt::format("%{}", name) : "%" + in_quotes(name);
}

Lexer::Lexer(std::string_view text, const Limits& limits, bool in_dims)
    : text_(text), limits_(limits), brackets_(in_dims ? 1 : 0) {
  check_limit("file_bytes", text.size(), limits.file_bytes, "text of {} bytes", text.size());
}

void Lexer::fail_at(std::size_t offset, std::string_view message, ErrorCode code) const {
  failed_ = true;
  const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  fail(code, "{}:{}: {}", line, column, message);
}

void Lexer::fail_limit(std::size_t offset, std::string_view name, std::uint64_t bound,
                       std::string_view found) const {
  fail_at(offset, limit_message(name, bound, found), ErrorCode::limit_exceeded);
}

static std::string describe(const Token& token) {
  constexpr std::size_t shown = 40;
  switch (token.kind) {
  case TokenKind::end:
    return "the end of the text";
  case TokenKind::string:
    return in_quotes(std::string_view(token.text).substr(0, shown));
  case TokenKind::value:
    return "%" + token.text.substr(0, shown);
  default:
    return "`" + token.text.substr(0, shown) + "`";
  }
}

void Lexer::fail_expected(std::string_view what) {
  fail_at(peek().offset, fmt::format("expected {}, found {}", what, describe(peek())));
}

const Token& Lexer::peek() {
  if (!peeked_) {
    token_ = read();
    peeked_ = true;
  }
  return token_;
}

Token Lexer::next() {
  peek();
  peeked_ = false;
  return std::move(token_);
}

bool Lexer::take(std::string_view mark) {
  if (!at(mark)) return false;
  peeked_ = false;
  return true;
}

bool Lexer::take_name(std::string_view name) {
  if (!at_name(name)) return false;
  peeked_ = false;
  return true;
}

void Lexer::expect(std::string_view mark) {
  if (!take(mark)) fail_expected(fmt::format("`{}`", mark));
}

Token Lexer::expect(TokenKind kind, std::string_view what) {
  if (peek().kind != kind) fail_expected(what);
  return next();
}

void Lexer::expect_end() {
  if (peek().kind != TokenKind::end) fail_expected("the end of the text");
}

template<typename T>
T Lexer::number(const Token& token, std::string_view digits, std::string_view what) const {
  T value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  // A real too small for T is written with more digits than T has; it is read as 0.
  const bool tiny =
      std::is_floating_point_v<T> && error == std::errc::result_out_of_range && beyond_range(digits) < 1;
  if (!tiny && (error != std::errc() || end != digits.data() + digits.size()))
    fail_at(token.offset, fmt::format("{} {} is out of range", what, digits.substr(0, 40)));
  return value;
}

std::int64_t Lexer::integer(std::string_view what) {
  return integer(what, take("-"));
}

std::int64_t Lexer::integer(std::string_view what, bool negative) {
  const Token token = expect(TokenKind::integer, what);
  return number<std::int64_t>(token, negative ? fmt::format("-{}", token.text) : token.text, what);
}

std::uint64_t Lexer::unsigned_integer(std::string_view what) {
  const Token token = expect(TokenKind::integer, what);
  return number<std::uint64_t>(token, token.text, what);
}

template<typename T>
T Lexer::real_number(std::string_view what) {
  const T sign = take("-") ? T(-1) : T(1);
  if (take_name("inf")) return sign * std::numeric_limits<T>::infinity();
  if (take_name("nan")) return std::numeric_limits<T>::quiet_NaN();
  if (peek().kind != TokenKind::integer && peek().kind != TokenKind::real) fail_expected(what);
  const Token token = next();
  return sign * number<T>(token, token.text, what);
}

double Lexer::real(std::string_view what) {
  return real_number<double>(what);
}
float Lexer::real32(std::string_view what) {
  return real_number<float>(what);
}

std::string Lexer::hex() {
  if (peeked_) position_ = token_.offset;
  peeked_ = false;
  skip_blank();
  std::string bytes;
  const std::size_t start = position_;
  while (is_hex(current()) && is_hex(current(1))) {
    bytes.push_back(static_cast<char>(hex_value(current()) * 16 + hex_value(current(1))));
    position_ += 2;
  }
  if (is_name_char(current())) fail_at(start, "expected pairs of hexadecimal digits");
  return bytes;
}

void Lexer::skip_blank() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++position_;
    } else if (c == '/' && current(1) == '/' && brackets_ == 0) {
      const std::size_t end = text_.find('\n', position_);
      position_ = end == std::string_view::npos ? text_.size() : end;
    } else {
      return;
    }
  }
}

Token Lexer::read() {
  skip_blank();
  Token token{TokenKind::end, {}, position_};
  if (position_ >= text_.size()) return token;
  const char c = text_[position_];
  if (is_digit(c)) return read_number();
  if (is_letter(c)) {
    const std::size_t start = position_;
    while (is_name_char(current())) ++position_;
    return {TokenKind::name, std::string(text_.substr(start, position_ - start)), start};
  }
  if (c == '"') return {TokenKind::string, read_string(), token.offset};
  if (c == '%' && brackets_ == 0) return read_value();
  const bool two = (c == '/' && current(1) == '/') || (c == '-' && current(1) == '>');
  if (!two && std::string_view("()[]{},:;=@*+-%<>").find(c) == std::string_view::npos)
    fail_at(position_, fmt::format("unexpected byte 0x{:02x}", static_cast<unsigned char>(c)));
  if (c == '[') ++brackets_;
  if (c == ']' && brackets_ > 0) --brackets_;
  token.kind = TokenKind::mark;
  token.text = text_.substr(position_, two ? 2 : 1);
  position_ += token.text.size();
  return token;
}

Token Lexer::read_number() {
  const std::size_t start = position_;
  TokenKind kind = TokenKind::integer;
  while (is_digit(current())) ++position_;
  if (current() == '.' && is_digit(current(1))) {
    kind = TokenKind::real;
    ++position_;
    while (is_digit(current())) ++position_;
  }
  const std::size_t sign = current(1) == '-' || current(1) == '+' ? 1 : 0;
  if ((current() == 'e' || current() == 'E') && is_digit(current(1 + sign))) {
    kind = TokenKind::real;
    position_ += 1 + sign;
    while (is_digit(current())) ++position_;
  }
  return {kind, std::string(text_.substr(start, position_ - start)), start};
}

Token Lexer::read_value() {
  const std::size_t start = position_++;
  if (current() == '"') return {TokenKind::value, read_string(), start};
  const std::size_t first = position_;
  while (is_name_char(current())) ++position_;
  if (position_ == first) fail_at(start, "expected a name after `%`");
  return {TokenKind::value, std::string(text_.substr(first, position_ - first)), start};
}

std::string Lexer::read_string() {
  const std::size_t start = position_++;
  std::string text;
  while (true) {
    if (position_ >= text_.size() || text_[position_] == '\n')
      fail_at(start, "a string has no closing quote");
    const char c = text_[position_++];
    if (c == '"') return text;
    text.push_back(c == '\\' ? read_escape() : c);
  }
}

char Lexer::read_escape() {
  const char c = current();
  ++position_;
  switch (c) {
  case 'n':
    return '\n';
  case 't':
    return '\t';
  case 'r':
    return '\r';
  case '"':
  case '\\':
    return c;
  case 'x':
    if (is_hex(current()) && is_hex(current(1))) {
      const char byte = static_cast<char>(hex_value(current()) * 16 + hex_value(current(1)));
      position_ += 2;
      return byte;
    }
    break;
  default:
    break;
  }
  fail_at(position_ - 2, "unknown escape in a string; expected \\n \\t \\r \\\" \\\\ or \\xHH");
}

Lexer::Depth::Depth(Lexer& lexer) : lexer_(lexer) {
  if (lexer_.depth_ >= lexer_.limits_.depth)
    lexer_.fail_limit(lexer_.peek().offset, "depth", lexer_.limits_.depth, "deeper nesting");
  ++lexer_.depth_;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
    case '"':
      result += "\\\"";
      break;
    case '\\':
      result += "\\\\";
      break;
    case '\n':
      result += "\\n";
      break;
    case '\t':
      result += "\\t";
      break;
    case '\r':
      result += "\\r";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      } else {
        result.push_back(c);
      }
    }
  }
  return result + "\"";
}

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

} // namespace lanner
