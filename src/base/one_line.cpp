#include "base/one_line.h"

#include <algorithm>

namespace lanner {

std::string one_line(std::string_view text, std::size_t most) {
  std::string line(text.substr(0, most));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text.size() > most ? line + "..." : line;
}

} // namespace lanner
