#pragma once
// Regular expressions in RE2's syntax, matched in time linear in the text: patterns and texts may be
// untrusted.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace lanner::ops {

/// A set of code points, as inclusive ranges.
struct CodeSet {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  bool inverted = false;
  bool holds(std::uint32_t code) const noexcept;
};

/// A compiled pattern. Supported: literals, `.`, classes (`[a-z]`, `[^...]`, `[[:alpha:]]`, `\d \w \s` and
/// their complements), groups (capturing, `(?:`, `(?P<name>`, flags `i`, `m`, `s` and `U`), `|`, `* + ?
/// {n,m}` greedy or lazy, `^ $ \A \z \b \B`, `\Q...\E`, escapes by code (`\012`, `\x41`, `\x{1F600}`).
/// Unicode property classes and `\C` are not. Immutable.
class Regex {
public:
  /// Throws Error{invalid_argument} with the position of a syntax error, Error{limit_exceeded} for a pattern
  /// too large.
  explicit Regex(std::string_view pattern);
  /// Whether all of `text` (UTF-8; invalid bytes count as U+FFFD) matches. Thread-safe.
  bool full_match(std::string_view text) const;

  enum class Step : std::uint8_t {
    set,
    split,
    begin,
    end,
    begin_line,
    end_line,
    word_edge,
    inside_word,
    match
  };
  /// One state: `set` consumes a code point and goes to `next`; `split` goes to `next` and `other`; the
  /// others go to `next` where their condition holds.
  struct State {
    Step step = Step::match;
    std::uint32_t set = 0, next = 0, other = 0;
  };

private:
  friend class RegexCompiler;
  std::vector<State> states_;
  std::vector<CodeSet> sets_;
  std::uint32_t start_ = 0;
};

} // namespace lanner::ops
