#pragma once
// YOLO's data.yaml.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::tasks {

/// The fields for folders and classes; others are ignored.
struct YoloFacts {
  std::string path, val;
  std::vector<std::string> names; ///< By class number.
};
/// Parses the part of YAML that such files use: `key: value`, lists and maps of names, in lines or in
/// brackets. Throws Error{bad_data} with the line for names that are neither.
YoloFacts read_yolo_facts(std::string_view yaml);

} // namespace lanner::tasks
