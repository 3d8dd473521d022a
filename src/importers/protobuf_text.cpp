// Protobuf's text format, by the same field tables as the binary one.

#include <cctype>
#include <charconv>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "base/text/one_line.h"
#include "base/text/utf8.h"
#include "importers/protobuf.h"

namespace lanner {
namespace {

constexpr std::uint64_t scalar_cost = 8, text_cost = 48, message_cost = 256;
constexpr std::size_t longest_shown = 40;

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool continues_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c));
}
bool continues_number(char c) {
  return continues_name(c) || c == '.' || c == '+' || c == '-';
}

/// The text's characters in order, comments skipped.
class Cursor {
public:
  explicit Cursor(std::string_view text) : text_(text) {}

  /// The next significant character, 0 at the end.
  char peek() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
        line_ += c == '\n';
        ++at_;
      } else {
        return c ? c : '\x01'; // a zero byte is not the end
      }
    }
    return 0;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    const char found = peek();
    check(take(c), ErrorCode::bad_data, "expected '{}', got {}", c, shown(found));
  }
  std::string_view name() {
    const char c = peek();
    check(begins_name(c), ErrorCode::bad_data, "expected a field's name, got {}", shown(c));
    return run(continues_name);
  }
  std::string_view number() {
    peek();
    return run(continues_number);
  }
  /// The contents of a quoted string, escapes not yet decoded.
  std::string_view quoted() {
    const char quote = peek();
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n')
      at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 2 : 1;
    check(at_ < text_.size() && text_[at_] == quote, ErrorCode::bad_data, "a string does not end");
    return text_.substr(begin, at_++ - begin);
  }
  std::size_t line() const noexcept { return line_; }

  static std::string shown(char c) {
    return c ? fmt::format("'{}'", one_line(std::string(1, c), longest_shown)) : "the end of the file";
  }

private:
  std::string_view run(bool (*in)(char)) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && in(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0, line_ = 1;
};

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/// Decodes a string's escapes, as in C; `\u` and `\U` are code points.
class Unescape {
public:
  explicit Unescape(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c != '\\')
        made_ += c;
      else
        escape();
    }
    return std::move(made_);
  }

private:
  std::uint32_t digits(std::uint32_t base, std::size_t most) {
    std::uint32_t value = 0;
    std::size_t count = 0;
    for (; count < most && at_ < text_.size() && digit_of(text_[at_]) < static_cast<int>(base); ++count)
      value = value * base + static_cast<std::uint32_t>(digit_of(text_[at_++]));
    check(count > 0, ErrorCode::bad_data, "a string has an escape without digits");
    return value;
  }
  void escape() {
    static constexpr std::string_view names = "abfnrtv\\'\"?", values = "\a\b\f\n\r\t\v\\'\"?";
    check(at_ < text_.size(), ErrorCode::bad_data, "a string ends in an escape");
    const char c = text_[at_];
    if (digit_of(c) < 8) {
      made_ += static_cast<char>(digits(8, 3));
      return;
    }
    ++at_;
    if (c == 'x' || c == 'X') {
      made_ += static_cast<char>(digits(16, 2));
    } else if (c == 'u' || c == 'U') {
      const std::uint32_t code = digits(16, c == 'u' ? 4 : 8);
      check(code <= 0x10ffff, ErrorCode::bad_data,
            "a string has the character U+{:X}, expected one up to U+10FFFF", code);
      append_utf8(made_, code);
    } else {
      const std::size_t found = names.find(c);
      check(found != std::string_view::npos, ErrorCode::bad_data, "a string has the unknown escape \\{}",
            one_line(std::string(1, c), longest_shown));
      made_ += values[found];
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string made_;
};

class TextReader {
public:
  TextReader(std::string_view text, const Limits& limits) : cursor_(text), limits_(limits) {}

  void read(std::span<const FieldEntry> table, void* object, char closing);
  /// After the opening bracket.
  void read_inner(std::span<const FieldEntry> table, void* object, char closing, std::string_view message) {
    check_deadline();
    ++depth_;
    check_limit("depth", depth_, limits_.depth, "messages are nested {} deep", depth_);
    charge(message_cost);
    const std::string_view outer = std::exchange(message_, message);
    read(table, object, closing);
    message_ = outer;
    --depth_;
  }

  std::string where() const { return fmt::format("line {}", cursor_.line()); }
  void charge(std::uint64_t bytes) {
    taken_ += bytes;
    check_limit("total_bytes", taken_, limits_.total_bytes, "the file unpacks to {} bytes", taken_);
    count_bytes(bytes);
  }

private:
  friend class TextValue;

  void refuse_unknown(std::span<const FieldEntry> table, std::string_view name) const;
  void read_field(const FieldEntry* entry, void* object);
  void read_value(const FieldEntry* entry, void* object);
  std::string_view string();
  void skip_extension_name() {
    while (cursor_.peek() != ']') {
      const bool part =
          continues_name(cursor_.peek()) ? !cursor_.number().empty() : cursor_.take('.') || cursor_.take('/');
      check(part, ErrorCode::bad_data, "expected an extension's name, got {}", Cursor::shown(cursor_.peek()));
    }
    cursor_.expect(']');
  }

  Cursor cursor_;
  const Limits& limits_;
  std::uint32_t depth_ = 0;
  std::uint64_t taken_ = 0;
  std::string_view message_ = "the file"; ///< The field whose value is being read.
  std::deque<std::string> kept_;          ///< Decoded strings, which are not views of the file.
};

char closing_of(char opening) {
  return opening == '{' ? '}' : '>';
}

/// One value of the text.
class TextValue : public FieldValue {
public:
  TextValue(TextReader& reader, const FieldEntry& entry) : reader_(reader), entry_(entry) {
    const char c = reader.cursor_.peek();
    if (c == '"' || c == '\'') {
      text_ = reader.string();
      kind_ = Kind::string;
    } else if (c == '{' || c == '<') {
      kind_ = Kind::message;
    } else {
      text_ = reader.cursor_.number();
      check(!text_.empty(), ErrorCode::bad_data, "field {}: expected a value, got {}", entry.name,
            Cursor::shown(c));
      reader.charge(scalar_cost);
    }
  }
  /// Skips the rest of a value that was not read.
  void finish() {
    if (kind_ == Kind::message && !read_) message({}, nullptr);
  }

  std::int64_t integer() override {
    if (text_ == "true" || text_ == "True" || text_ == "t") return 1;
    if (text_ == "false" || text_ == "False" || text_ == "f") return 0;
    const bool negative = text_.starts_with('-');
    std::string_view digits = text_.substr(negative);
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16, digits.remove_prefix(2);
    } else if (digits.size() > 1 && digits[0] == '0') {
      base = 8;
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (kind_ != Kind::word || error != std::errc{} || end != digits.data() + digits.size())
      mismatch("an integer");
    return static_cast<std::int64_t>(negative ? 0 - value : value);
  }
  double real() override {
    std::string_view text = text_;
    if (text.ends_with('f') && !text.ends_with("inf")) text.remove_suffix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = end == text.data() + text.size() && error != std::errc::invalid_argument;
    if (kind_ != Kind::word || !whole) mismatch("a number");
    return value;
  }
  std::int64_t enumerator(std::span<const EnumName> names) override {
    for (const EnumName& one : names)
      if (text_ == one.name) return one.number;
    if (kind_ != Kind::word || text_.empty() || !begins_name(text_[0])) return integer();
    std::vector<std::string> known;
    for (const EnumName& one : names) known.emplace_back(one.name);
    fail(ErrorCode::bad_data, "field {}: '{}' is not one of its values{}", entry_.name,
         one_line(text_, longest_shown), did_you_mean(text_, known));
  }
  std::string_view bytes() override {
    if (kind_ != Kind::string) mismatch("a string");
    return text_;
  }
  void message(std::span<const FieldEntry> table, void* object) override {
    if (kind_ != Kind::message || read_) mismatch("a message");
    read_ = true;
    const char opening = reader_.cursor_.peek();
    reader_.cursor_.expect(opening);
    reader_.read_inner(table, object, closing_of(opening), entry_.name);
  }

private:
  enum class Kind : std::uint8_t { word, string, message };
  [[noreturn]] void mismatch(const char* expected) const {
    fail(ErrorCode::bad_data, "field {}: expected {}, got {}", entry_.name, expected,
         kind_ == Kind::message ? "a message" : fmt::format("'{}'", one_line(text_, longest_shown)));
  }

  TextReader& reader_;
  const FieldEntry& entry_;
  Kind kind_ = Kind::word;
  std::string_view text_;
  bool read_ = false;
};

/// Adjacent strings are concatenated.
std::string_view TextReader::string() {
  std::string_view first = cursor_.quoted();
  const auto more = [&] { return cursor_.peek() == '"' || cursor_.peek() == '\''; };
  charge(text_cost + first.size());
  if (!more() && first.find('\\') == std::string_view::npos) return first;
  std::string whole = Unescape(first).run();
  while (more()) {
    const std::string_view part = cursor_.quoted();
    charge(part.size());
    whole += Unescape(part).run();
  }
  return kept_.emplace_back(std::move(whole));
}

void TextReader::read_value(const FieldEntry* entry, void* object) {
  static constexpr FieldEntry unknown{0, "of no known name", Wire::message, nullptr};
  TextValue value(*this, entry ? *entry : unknown);
  if (entry && entry->read) entry->read(object, value);
  value.finish();
}

void TextReader::read_field(const FieldEntry* entry, void* object) {
  const bool colon = cursor_.take(':');
  const char c = cursor_.peek();
  check(colon || c == '{' || c == '<' || c == '[', ErrorCode::bad_data, "expected ':' or '{{', got {}",
        Cursor::shown(c));
  if (!cursor_.take('[')) return read_value(entry, object);
  if (cursor_.take(']')) return;
  do read_value(entry, object);
  while (cursor_.take(','));
  cursor_.expect(']');
}

bool is_end_of_fields(const FieldEntry& entry) {
  return !entry.read && entry.wire == Wire::varint;
}

void TextReader::refuse_unknown(std::span<const FieldEntry> table, std::string_view name) const {
  if (table.empty() || !is_end_of_fields(table.back())) return;
  const std::string_view but = table.back().name;
  std::vector<std::string> names;
  for (const FieldEntry& one : table.first(table.size() - 1)) names.emplace_back(one.name);
  std::string hint = did_you_mean(name, names);
  if (hint.empty() && !but.empty() && name.ends_with(but)) return;
  constexpr std::size_t max_listed = 20;
  if (hint.empty() && names.size() <= max_listed) hint = fmt::format("; it has {}", joined(names, ", "));
  fail(ErrorCode::bad_data, "{} has no field '{}'{}", message_, one_line(name, longest_shown), hint);
}

void TextReader::read(std::span<const FieldEntry> table, void* object, char closing) {
  while (cursor_.peek() != closing) {
    check(cursor_.peek() != 0, ErrorCode::bad_data, "the text ends within a message");
    const FieldEntry* entry = nullptr;
    if (cursor_.take('[')) {
      skip_extension_name();
    } else {
      const std::string_view name = cursor_.name();
      for (const FieldEntry& one : table)
        if (name == one.name) entry = &one;
      if (!entry) refuse_unknown(table, name);
    }
    read_field(entry, object);
    if (!cursor_.take(',')) cursor_.take(';');
  }
  if (closing) cursor_.expect(closing);
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

void read_protobuf_text(std::span<const std::byte> bytes, std::span<const FieldEntry> table, void* object,
                        const Limits& limits) {
  TextReader reader(text_of(bytes), limits);
  try {
    reader.read(table, object, 0);
  } catch (const Error& error) {
    throw error.within(reader.where());
  }
}

std::vector<std::string> leading_fields(std::span<const std::byte> bytes, std::size_t most) {
  std::vector<std::string> names;
  Cursor cursor(text_of(bytes));
  try {
    while (names.size() < most && cursor.peek() != 0) {
      const std::string_view name = cursor.name();
      const char c = cursor.peek();
      if (c != ':' && c != '{' && c != '<' && c != '[') return {};
      names.emplace_back(one_line(name, longest_shown));
      cursor.take(':');
      const char value = cursor.peek();
      // The contents of a nested message do not matter here.
      if (value == '{' || value == '<' || value == '[') return names;
      if (value == '"' || value == '\'')
        cursor.quoted();
      else if (cursor.number().empty())
        return {};
    }
  } catch (const Error&) {
    return {};
  }
  return names;
}

} // namespace lanner
