#include "ops/strings/regex_syntax.h"

#include <algorithm>
#include <optional>
#include <string>

#include <lanner/limits.h>

#include "base/check.h"
#include "ops/strings/regex_case.h"

namespace lanner::ops {

namespace {

constexpr std::uint32_t last_code = 0x10ffff;

CodeSet set_of(std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> ranges, bool inverted = false) {
  return {{ranges}, inverted};
}

/// The class denoted by `\d`, `\w` or `\s`.
std::optional<CodeSet> escaped_class(std::uint32_t letter) {
  switch (letter) {
  case 'd':
  case 'D':
    return set_of({{'0', '9'}}, letter == 'D');
  case 'w':
  case 'W':
    return set_of({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}}, letter == 'W');
  case 's':
  case 'S':
    return set_of({{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, letter == 'S');
  default:
    return std::nullopt;
  }
}

struct NamedClass {
  std::string_view name;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
};

const std::vector<NamedClass>& named_classes() {
  static const std::vector<NamedClass> classes = {
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 0x7f}}},
      {"blank", {{'\t', '\t'}, {' ', ' '}}},
      {"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{'!', '~'}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{' ', '~'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  return classes;
}

/// The complement of a set as ranges, so that it can be part of another set.
std::vector<std::pair<std::uint32_t, std::uint32_t>>
complement(std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  std::uint32_t begin = 0;
  for (const auto& [first, last] : ranges) {
    if (first > begin) result.emplace_back(begin, first - 1);
    begin = std::max(begin, last + 1);
  }
  if (begin <= last_code) result.emplace_back(begin, last_code);
  return result;
}

class Parser {
public:
  explicit Parser(std::string_view pattern) : codes_(decode_utf8(pattern)) {}

  RegexNode parse() {
    RegexNode node = choice();
    if (at_ < codes_.size()) refuse("an unmatched )");
    return node;
  }

private:
  struct Flags {
    bool ignore_case = false, dot_takes_newline = false, multiline = false;
  };

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorCode::invalid_argument, "regular expression: {} at character {}", what, at_);
  }
  bool more() const { return at_ < codes_.size(); }
  bool ahead(std::uint32_t code, std::size_t by = 0) const {
    return at_ + by < codes_.size() && codes_[at_ + by] == code;
  }
  bool take(std::uint32_t code) {
    if (!ahead(code)) return false;
    ++at_;
    return true;
  }
  std::uint32_t next() {
    if (!more()) refuse("the pattern ends early");
    return codes_[at_++];
  }

  RegexNode choice() {
    if (++depth_ > Limits{}.depth) refuse("groups nested too deep");
    const Flags outer = flags_;
    RegexNode node;
    node.kind = RegexNode::Kind::choice;
    do node.parts.push_back(sequence());
    while (take('|'));
    flags_ = outer;
    --depth_;
    return node;
  }

  RegexNode sequence() {
    RegexNode node;
    while (more() && !ahead('|') && !ahead(')')) node.parts.push_back(repeated(atom()));
    return node;
  }

  RegexNode repeated(RegexNode body) {
    bool again = false;
    while (more()) {
      int least = 0, most = RegexNode::unbounded;
      if (take('*'))
        least = 0;
      else if (take('+'))
        least = 1;
      else if (take('?'))
        most = 1;
      else if (!(ahead('{') && counted(least, most)))
        break;
      if (again) refuse("a repetition of a repetition");
      // Lazy and greedy repetitions match the same whole texts.
      take('?');
      again = true;
      RegexNode node;
      node.kind = RegexNode::Kind::repeat;
      node.least = least;
      node.most = most;
      node.parts.push_back(std::move(body));
      body = std::move(node);
    }
    return body;
  }

  /// `{n}`, `{n,}` or `{n,m}`; anything else leaves the brace a literal.
  bool counted(int& least, int& most) {
    const std::size_t start = at_++;
    const std::optional<int> first = number();
    std::optional<int> last = first;
    const bool comma = take(',');
    if (comma) last = number();
    if (!first || !take('}')) {
      at_ = start;
      return false;
    }
    least = *first;
    most = comma && !last ? RegexNode::unbounded : *last;
    constexpr int limit = 1000;
    if (least > limit || most > limit || (most != RegexNode::unbounded && most < least))
      refuse("a bad repetition count");
    return true;
  }

  std::optional<int> number() {
    std::optional<int> value;
    while (more() && codes_[at_] >= '0' && codes_[at_] <= '9') {
      value = std::min(value.value_or(0) * 10 + static_cast<int>(codes_[at_] - '0'), 1'000'000);
      ++at_;
    }
    return value;
  }

  RegexNode atom() {
    const std::uint32_t code = next();
    switch (code) {
    case '(':
      return group();
    case '[':
      return set_node(bracket());
    case '.':
      return set_node(flags_.dot_takes_newline ? set_of({{0, last_code}}) : set_of({{'\n', '\n'}}, true));
    case '^':
      return place(flags_.multiline ? Regex::Step::begin_line : Regex::Step::begin);
    case '$':
      return place(flags_.multiline ? Regex::Step::end_line : Regex::Step::end);
    case '\\':
      return escape();
    case '*':
    case '+':
    case '?':
      refuse("nothing to repeat");
    default:
      return set_node(set_of({{code, code}}));
    }
  }

  RegexNode group() {
    const Flags outer = flags_;
    if (take('?')) {
      if (take('P') || ahead('<')) {
        if (!take('<')) refuse("an unknown kind of group");
        while (next() != '>') {
        }
      } else if (!group_flags()) {
        int least = 0, most = 0;
        if (ahead('*') || ahead('+') || ahead('?') || (ahead('{') && counted(least, most)))
          refuse("nothing to repeat");
        return {};
      }
    }
    RegexNode node = choice();
    flags_ = outer;
    if (!take(')')) refuse("an unmatched (");
    return node;
  }

  /// Flags after `(?`; returns whether a group follows (`(?i:`) rather than its end (`(?i)`).
  bool group_flags() {
    bool value = true;
    while (true) {
      switch (next()) {
      case ':':
        return true;
      case ')':
        return false;
      case '-':
        value = false;
        break;
      case 'i':
        flags_.ignore_case = value;
        break;
      case 's':
        flags_.dot_takes_newline = value;
        break;
      case 'm':
        flags_.multiline = value;
        break;
      case 'U': // Lazy and greedy repetitions match the same whole texts.
        break;
      default:
        refuse("an unknown kind of group");
      }
    }
  }

  RegexNode escape() {
    const std::uint32_t code = next();
    switch (code) {
    case 'A':
      return place(Regex::Step::begin);
    case 'z':
      return place(Regex::Step::end);
    case 'b':
      return place(Regex::Step::word_edge);
    case 'B':
      return place(Regex::Step::inside_word);
    case 'Q':
      return quoted();
    default:
      break;
    }
    if (const auto set = escaped_class(code)) return set_node(*set);
    const std::uint32_t literal = escaped_code(code);
    return set_node(set_of({{literal, literal}}));
  }

  /// Literals up to `\E` or the pattern's end. A repetition applies to the last one.
  RegexNode quoted() {
    RegexNode node;
    while (more() && !(ahead('\\') && ahead('E', 1))) {
      const std::uint32_t code = next();
      RegexNode literal = set_node(set_of({{code, code}}));
      const bool last = !more() || (ahead('\\') && ahead('E', 1));
      if (last && more()) {
        at_ += 2;
        node.parts.push_back(repeated(std::move(literal)));
        return node;
      }
      node.parts.push_back(std::move(literal));
    }
    if (more()) at_ += 2; // Nothing was quoted.
    return node;
  }

  /// `\0` to `\077` and `\1xx`: one to three octal digits. A single digit but 0 would refer to a group.
  std::uint32_t octal(std::uint32_t first) {
    const auto digit = [this] { return more() && codes_[at_] >= '0' && codes_[at_] <= '7'; };
    if (first > '7' || (first != '0' && !digit())) refuse("an unsupported reference to a group");
    std::uint32_t value = first - '0';
    for (int digits = 1; digits < 3 && digit(); ++digits) value = value * 8 + (next() - '0');
    return value;
  }

  std::uint32_t escaped_code(std::uint32_t code) {
    if (code >= '0' && code <= '9') return octal(code);
    switch (code) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case 'a':
      return '\a';
    case 'x':
      return hexadecimal();
    default:
      break;
    }
    const bool letter = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
    if (letter) refuse("an unsupported escape");
    return code;
  }

  std::uint32_t hexadecimal() {
    const bool braced = take('{');
    std::uint32_t value = 0;
    for (int digits = 0; braced ? !take('}') : digits < 2; ++digits) {
      const std::uint32_t code = next();
      const std::uint32_t lower = code | 0x20u;
      if (code >= '0' && code <= '9')
        value = value * 16 + (code - '0');
      else if (lower >= 'a' && lower <= 'f')
        value = value * 16 + (lower - 'a' + 10);
      else
        refuse("a bad hexadecimal digit");
      if (value > last_code) refuse("a code point beyond Unicode");
    }
    return value;
  }

  CodeSet bracket() {
    CodeSet set;
    set.inverted = take('^');
    bool first = true;
    while (first || !ahead(']')) {
      first = false;
      if (ahead('[') && ahead(':', 1)) {
        named_class(set);
        continue;
      }
      const std::uint32_t code = next();
      std::uint32_t low = code;
      if (code == '\\') {
        const std::uint32_t letter = next();
        if (const auto inner = escaped_class(letter)) {
          add_ranges(set, *inner);
          continue;
        }
        low = escaped_code(letter);
      }
      std::uint32_t high = low;
      if (ahead('-') && !ahead(']', 1) && at_ + 1 < codes_.size()) {
        ++at_;
        high = next();
        if (high == '\\') high = escaped_code(next());
        if (high < low) refuse("a reversed range");
      }
      set.ranges.emplace_back(low, high);
    }
    take(']');
    return set;
  }

  void named_class(CodeSet& set) {
    at_ += 2;
    const bool inverted = take('^');
    std::string name;
    while (!ahead(':')) name.push_back(static_cast<char>(next() & 0x7fu));
    at_ += 1;
    if (!take(']')) refuse("an unmatched [:");
    for (const NamedClass& known : named_classes()) {
      if (known.name == name) return add_ranges(set, {known.ranges, inverted});
    }
    refuse("an unknown class name");
  }

  /// Case is ignored before a class is inverted: `\W` has neither `k` nor the Kelvin sign then.
  void add_ranges(CodeSet& set, CodeSet more) const {
    if (flags_.ignore_case) add_other_cases(more);
    const auto ranges = more.inverted ? complement(std::move(more.ranges)) : std::move(more.ranges);
    set.ranges.insert(set.ranges.end(), ranges.begin(), ranges.end());
  }

  RegexNode set_node(CodeSet set) const {
    RegexNode node;
    node.kind = RegexNode::Kind::set;
    if (flags_.ignore_case) add_other_cases(set);
    node.set = std::move(set);
    return node;
  }

  static RegexNode place(Regex::Step step) {
    RegexNode node;
    node.kind = RegexNode::Kind::place;
    node.place = step;
    return node;
  }

  std::vector<std::uint32_t> codes_;
  std::size_t at_ = 0;
  std::uint32_t depth_ = 0;
  Flags flags_;
};

} // namespace

RegexNode parse_regex(std::string_view pattern) {
  return Parser(pattern).parse();
}

} // namespace lanner::ops
