#include "input/labels.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/source.h>

#include "check.h"
#include "input/json_parser.h"
#include "output/visible.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_text_bytes = 16u << 20;
// A file of `max_text_bytes` may hold that many empty names, each of which takes the memory of a string.
constexpr std::size_t max_names = 1u << 20;
constexpr std::size_t max_depth = 64;

void check_count(const std::string& path, std::size_t names) {
  check(names <= max_names, ErrorCode::limit_exceeded, "{}: expected at most {} names of classes, got more",
        path, max_names);
}

std::vector<std::string> lines_of(const std::string& path, std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    check_count(path, lines.size() + 1);
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// `n07747607 orange` is `orange`.
std::string without_synset(std::string label) {
  const bool digits =
      label.size() > 10 && label[0] == 'n' && label[9] == ' ' &&
      std::all_of(label.begin() + 1, label.begin() + 9, [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits ? label.substr(10) : label;
}

/// `"orange"`, or Keras's `["n07747607", "orange"]`.
std::string name_of(const std::string& path, std::size_t number, const Json& value) {
  const Json& name = value.is_array() && value.size() == 2 ? value[1] : value;
  check(name.is_string(), ErrorCode::bad_data, "{}: class {}: expected its name, a string, got {}", path,
        number, value.type_name());
  return name.get<std::string>();
}

/// Discarded where it is not JSON. Number and depth of values are limited while they are read.
Json bounded_json(const std::string& path, const std::string& text) {
  std::size_t events = 0;
  const auto look = [&](std::size_t depth) {
    check(depth <= max_depth, ErrorCode::limit_exceeded, "{}: expected JSON of at most {} levels, got more",
          path, max_depth);
    check_count(path, ++events / 5); // Keras's form: a key, both ends of a list, two elements.
  };
  try {
    return parse_json(text, look);
  } catch (const Json::exception&) {
    return Json(Json::value_t::discarded);
  }
}

std::vector<std::string> names_of_json(const std::string& path, const std::string& text) {
  const Json document = bounded_json(path, text);
  check(!document.is_discarded(), ErrorCode::bad_data, "{}: expected JSON because of its extension .json",
        path);
  const Json& names = document.is_object() && document.contains("id2label") ? document["id2label"] : document;
  check(names.is_array() || names.is_object(), ErrorCode::bad_data,
        "{}: expected a list of names, a dict like {{\"0\": \"cat\"}}, or one under id2label, got {}", path,
        names.type_name());
  std::map<std::string_view, const Json*> by_key; // an object of this kind searches all its members
  if (names.is_object())
    for (const auto& [key, value] : names.items()) by_key.emplace(key, &value);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = names.is_object() ? by_key.find(std::to_string(i)) : by_key.end();
    check(names.is_array() || found != by_key.end(), ErrorCode::bad_data,
          "{}: expected names for classes 0 to {}, {} is missing", path, names.size() - 1, i);
    labels.push_back(name_of(path, i, names.is_array() ? names[i] : *found->second));
  }
  return labels;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Whether it has `id2label`: other tools use this file name too.
bool has_names(const fs::path& config) {
  std::error_code ignored;
  if (!is_file(config) || fs::file_size(config, ignored) > max_text_bytes) return false;
  try {
    const Json document = bounded_json(config.string(), read_text(config.string(), "JSON"));
    return document.is_object() && document.contains("id2label");
  } catch (const Error&) {
    return false; // Only looked at: errors are ignored.
  }
}

bool has_classes(TaskKind kind) {
  return kind != TaskKind::depth && kind != TaskKind::image && kind != TaskKind::embed &&
         kind != TaskKind::none;
}

} // namespace

std::string read_text(const std::string& path, const char* expected) {
  Limits limits;
  limits.file_bytes = max_text_bytes;
  const Content content = read_all(open_path(path, limits), limits);
  std::string text(reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size());
  check(text.find('\0') == std::string::npos, ErrorCode::bad_data, "{}: expected {}, got binary data", path,
        expected);
  return text;
}

std::vector<std::string> labels_of_text(const std::string& path, const std::string& text) {
  std::vector<std::string> labels =
      fs::path(path).extension() == ".json" ? names_of_json(path, text) : lines_of(path, text);
  for (std::string& label : labels) label = without_synset(std::move(label));
  check(!labels.empty(), ErrorCode::bad_data, "{}: expected one label a line, got none", path);
  return labels;
}

std::vector<std::string> read_labels(const std::string& path) {
  return labels_of_text(path, read_text(path, "text with one label a line"));
}

std::string labels_note(const std::string& model, const Task& task) {
  if (!task.labels.empty() || !task.kind || !has_classes(*task.kind)) return {};
  const fs::path folder = fs::path(model).parent_path(), stem = fs::path(model).stem();
  std::vector<fs::path> candidates;
  for (const char* extension : {".txt", ".names"}) {
    candidates.push_back(folder / stem);
    candidates.back() += extension;
  }
  for (const char* name : {"labels.txt", "class_names.txt", "classes.txt", "labelmap.txt", "synset.txt",
                           "imagenet_class_index.json"})
    candidates.push_back(folder / name);
  std::erase_if(candidates, [](const fs::path& path) { return !is_file(path); });
  if (has_names(folder / "config.json")) candidates.push_back(folder / "config.json");
  if (candidates.empty()) return {};
  const std::string path = one_line(candidates.front().string());
  const bool plain = path.find_first_of(" '\"$&;()") == std::string::npos;
  return fmt::format("note: classes have no names; {} is in the model's folder: --labels {}",
                     one_line(candidates.front().filename().string()), plain ? path : "'" + path + "'");
}

} // namespace lanner::tool
