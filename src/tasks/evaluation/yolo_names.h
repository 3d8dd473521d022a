#pragma once
// What YOLO's data.yaml says.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::tasks {

/// The fields of the file that name folders and classes; others are passed over.
struct YoloFacts {
  std::string path, val;
  std::vector<std::string> names; ///< By number.
};
/// Reads the part of YAML that such files have: `key: value`, lists and maps of names, in lines or in
/// brackets. Throws Error{bad_data} with the line for names that are neither.
YoloFacts read_yolo_facts(std::string_view yaml);

} // namespace lanner::tasks
