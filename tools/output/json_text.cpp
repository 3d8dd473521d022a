#include "output/json_text.h"

#include "output/console.h"

namespace lanner::tool {
namespace {

std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace

std::string json_text(const Json& json) {
  return dumped(json, -1);
}

void print_json(const Json& json) {
  print_json_text(dumped(json, 2) + "\n");
}

} // namespace lanner::tool
