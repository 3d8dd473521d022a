#pragma once
// The syntax tree of a regular expression.

#include <cstdint>
#include <string_view>
#include <vector>

#include <lanner/error.h>

#include "ops/strings/regex.h"

namespace lanner::ops {

struct RegexNode {
  enum class Kind : std::uint8_t { set, sequence, choice, repeat, place };
  static constexpr int unbounded = -1;

  Kind kind = Kind::sequence;
  CodeSet set;                            ///< For a set.
  std::vector<RegexNode> parts;           ///< For a sequence or choice; the one body of a repeat.
  int least = 0, most = 0;                ///< For a repeat.
  Regex::Step place = Regex::Step::begin; ///< For a place: the condition that must hold there.
};

/// Throws Error{invalid_argument} with the position of a syntax error.
RegexNode parse_regex(std::string_view pattern);

/// Code points of UTF-8 text; invalid bytes become U+FFFD.
std::vector<std::uint32_t> decode_utf8(std::string_view text);

} // namespace lanner::ops
