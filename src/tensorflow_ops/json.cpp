#include "json.h"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace lanner::tensorflow_ops {

std::string json_text(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      made += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      made += fmt::format("\\u{:04x}", c);
    else
      made += c;
  }
  return made + "\"";
}

void JsonObject::add_raw(std::string_view name, std::string_view json) {
  if (!members_.empty()) members_ += ',';
  members_ += json_text(name);
  members_ += ':';
  members_ += json;
}

void warn(std::string_view message) {
  const char* const level = std::getenv("TF_CPP_MIN_LOG_LEVEL");
  if (level && std::atoi(level) >= 2) return;
  fmt::print(stderr, "W lanner: {}\n", message);
}

} // namespace lanner::tensorflow_ops
