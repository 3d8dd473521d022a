#include "engine/precision_notes.h"

#include <lanner/error.h>

#include "base/text/json.h"

namespace lanner {

std::vector<std::string> precision_notes(const Graph& graph) {
  constexpr std::size_t most_lines = 8192, longest_line = 1024;
  std::vector<std::string> lines;
  const auto found = graph.metadata.find(std::string(precision_key));
  if (found == graph.metadata.end()) return lines;
  nlohmann::json json;
  try {
    json = parse_json(found->second);
  } catch (const Error&) {
    return lines;
  }
  if (!json.is_object() || !json.contains("notes") || !json["notes"].is_array()) return lines;
  for (const auto& line : json["notes"])
    if (line.is_string() && line.get_ref<const std::string&>().size() <= longest_line &&
        lines.size() < most_lines)
      lines.push_back(line.get<std::string>());
  return lines;
}

} // namespace lanner
