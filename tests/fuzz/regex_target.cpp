#include "ops/strings/regex.h"

#include "fuzz/targets.h"

namespace lanner::fuzz {

/// The first line is the pattern, the rest is the text.
void read_regex(std::span<const std::byte> input) {
  const std::string_view text = as_text(input);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const ops::Regex regex(text.substr(0, end));
  regex.full_match(text.substr(std::min(end + 1, text.size())));
}

} // namespace lanner::fuzz
