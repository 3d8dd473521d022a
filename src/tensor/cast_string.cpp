#include "tensor/cast_string.h"

#include <charconv>
#include <span>
#include <string_view>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/decimal.h"
#include "tensor/element_codec.h"

namespace lanner {
namespace {

template<typename T>
std::string print_float(T value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(blanks) - first + 1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

template<typename T>
bool parse_whole(std::string_view text, T& value) {
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && stop == text.data() + text.size();
}

// A number out of range is still a number: from_chars rejects it, where the rules give infinity or zero.
bool parse_double(std::string_view text, double& value) {
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (stop != text.data() + text.size()) return false;
  if (status == std::errc::result_out_of_range) value = beyond_range(text);
  return status != std::errc::invalid_argument;
}

} // namespace

std::string print_element(DType type, const void* base, std::int64_t offset) {
  WideValue value;
  read_elements(type, static_cast<const std::byte*>(base), std::span(&offset, 1), &value);
  if (type == DType::boolean) return value.i64 ? "True" : "False";
  if (type == DType::f64) return print_float(value.f64);
  if (type == DType::f32 || is_float(type)) return print_float(static_cast<float>(value.f64));
  return wide_of(type) == Wide::u64 ? fmt::format("{}", value.u64) : fmt::format("{}", value.i64);
}

void parse_element(const std::string& text, DType type, void* base, std::int64_t offset, CastRules rules) {
  const std::string_view number = trimmed(text);
  WideValue value;
  Wide wide = is_float(type) ? Wide::f64 : Wide::i64;
  bool good = false;
  if (wide == Wide::i64) {
    good = parse_whole(number, value.i64);
    if (!good && parse_whole(number, value.u64)) good = true;
    if (!good) wide = Wide::f64;
  }
  if (!good) good = parse_double(number, value.f64);
  check(good, ErrorCode::bad_data, "cast: \"{}\" is not a number; expected text that {} can be read from",
        text.substr(0, 64), to_string(type));
  write_elements(type, static_cast<std::byte*>(base), std::span(&offset, 1), wide, &value, rules);
}

} // namespace lanner
