#include "graph/storage.h"

#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/lexer.h"

namespace lanner {

bool Storage::is_default() const noexcept {
  return !dtype && layout.order.empty() && layout.blocks.empty() && device == Device{} && scale == 0 &&
         zero == 0 && !parent && offset == 0;
}

std::string Storage::to_string() const {
  std::string text = dtype ? fmt::format("{} ", lanner::to_string(*dtype)) : std::string();
  text += layout.row_major() ? "row" : layout.to_string();
  if (device != Device{}) text += " " + device.to_string();
  if (scale != 0) text += " scale=" + real_text(scale);
  if (zero != 0) text += fmt::format(" zero={}", zero);
  if (parent) text += " in=" + value_name(parent->name());
  if (offset != 0) text += fmt::format("+{}", offset);
  return text;
}

} // namespace lanner
