#include "base/text/literal.h"

#include <charconv>
#include <string>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/text/json.h"
#include "base/text/utf8.h"

namespace lanner {
namespace {

using nlohmann::json;

class Parser {
public:
  Parser(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {}

  json document() {
    json value = this->value(0);
    skip_space();
    require(at_ == text_.size(), "the end");
    return value;
  }

private:
  [[noreturn]] void stop(const char* expected) const {
    fail(ErrorCode::bad_data, "literal: byte {}: expected {}", at_, expected);
  }
  void require(bool good, const char* expected) const {
    if (!good) stop(expected);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  json value(std::uint32_t depth) {
    check_limit("depth", depth, limits_.depth, "literal: nested deeper than {}", limits_.depth);
    check_limit("nodes", ++values_, limits_.nodes, "literal: more than {} values", limits_.nodes);
    skip_space();
    const char c = peek();
    if (c == '{') return dict(depth);
    if (c == '[') return list(depth, ']');
    if (c == '(') return list(depth, ')');
    if (c == '\'' || c == '"') return string();
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    if (take_word("None")) return nullptr;
    return number();
  }

  json dict(std::uint32_t depth) {
    json object = json::object();
    ++at_;
    while (!take('}')) {
      skip_space();
      const json key = peek() == '\'' || peek() == '"' ? json(string()) : number();
      require(key.is_string() || key.is_number_integer(), "a string or a whole number");
      const std::string name = key.is_string() ? key.get<std::string>() : json_text(key);
      require(take(':'), "':'");
      require(!object.contains(name), "distinct keys");
      object[name] = value(depth + 1);
      if (take(',')) continue;
      require(take('}'), "',' or '}'");
      break;
    }
    return object;
  }

  json list(std::uint32_t depth, char end) {
    json array = json::array();
    ++at_;
    while (!take(end)) {
      array.push_back(value(depth + 1));
      if (take(',')) continue;
      require(take(end), end == ']' ? "',' or ']'" : "',' or ')'");
      break;
    }
    return array;
  }

  std::string string() {
    const char quote = text_[at_++];
    std::string result;
    while (peek() != quote || at_ >= text_.size()) {
      require(at_ < text_.size() && text_[at_] != '\n', "the string's end");
      if (text_[at_] != '\\') {
        result.push_back(text_[at_++]);
        continue;
      }
      ++at_;
      escape(result);
    }
    ++at_;
    return result;
  }

  void escape(std::string& into) {
    constexpr std::string_view marks = "\\'\"nrt", meant = "\\'\"\n\r\t";
    require(at_ < text_.size(), "an escape");
    const char c = text_[at_++];
    if (const auto i = marks.find(c); i != std::string_view::npos) return into.push_back(meant[i]);
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    require(digits > 0 && text_.size() - at_ >= digits, "one of the escapes \\ ' \" n r t x u U");
    std::uint32_t code = 0;
    const char* const first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, first + digits, code, 16);
    require(error == std::errc{} && end == first + digits && code <= 0x10ffff &&
                (code < 0xd800 || code > 0xdfff),
            "a character code");
    at_ += digits;
    append_utf8(into, code);
  }

  json number() {
    const char *const first = text_.data() + at_, *const last = text_.data() + text_.size();
    std::int64_t whole = 0;
    const auto integer = std::from_chars(first, last, whole);
    double real = 0;
    const auto any = std::from_chars(first, last, real);
    // from_chars also accepts inf and nan, which are not Python literals.
    const char lead = peek() == '-' && at_ + 1 < text_.size() ? text_[at_ + 1] : peek();
    require(any.ec == std::errc{} && ((lead >= '0' && lead <= '9') || lead == '.'), "a value");
    at_ = static_cast<std::size_t>(any.ptr - text_.data());
    if (integer.ec == std::errc{} && integer.ptr == any.ptr) return whole;
    return real;
  }

  std::string_view text_;
  const Limits& limits_;
  std::size_t at_ = 0;
  std::uint32_t values_ = 0;
};

} // namespace

nlohmann::json parse_literal(std::string_view text, const Limits& limits) {
  return Parser(text, limits).document();
}

} // namespace lanner
