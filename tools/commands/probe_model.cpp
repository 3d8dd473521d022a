#include "commands/probe_model.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/error.h>

#include "commands/model_use.h"
#include "options/engine_options.h"
#include "output/console.h"
#include "output/json_text.h"
#include "report/run_facts.h"

namespace lanner::tool {
namespace {

constexpr std::size_t longest_value = 100; ///< Longest metadata value shown, in characters.

Json task_json(const ModelUse& use) {
  if (!use.task) return {};
  Json json{{"task", std::string(to_string(*use.task->task.kind))}, {"reason", use.task->reason}};
  if (use.task->task.head) json["head"] = std::string(to_string(*use.task->task.head));
  return json;
}

Json preprocess_json(const ModelUse& use) {
  if (!use.picture) return {};
  return {{"input", use.picture->input},
          {"values", parse_json(use.picture->spec.to_json())},
          {"source", use.picture->source}};
}

std::string told(bool known, const std::string& text) {
  return known ? text : "not told: " + text;
}

Json bindings_json(const std::vector<Binding>& bindings) {
  Json list = Json::array();
  for (const Binding& binding : bindings)
    list.push_back({{"name", binding.name},
                    {"type", std::string(to_string(binding.dtype))},
                    {"dims", binding.dims},
                    {"dim_names", binding.dim_names}});
  return list;
}

std::string bindings_text(std::string_view heading, const std::vector<Binding>& bindings) {
  std::string text;
  for (const Binding& binding : bindings)
    text += fmt::format("{:<9}{}\n", text.empty() ? heading : "", one_line(binding.to_string()));
  return text;
}

/// Names of open sizes of inputs, each once.
std::vector<std::string> open_sizes(const Engine& engine) {
  std::vector<std::string> names;
  for (const Binding& input : engine.inputs())
    for (std::size_t axis = 0; axis < input.dims.size(); ++axis)
      if (input.dims[axis] < 0 && std::ranges::find(names, input.dim_names[axis]) == names.end())
        names.push_back(input.dim_names[axis]);
  return names;
}

/// Operators of the graph, the most frequent first.
std::vector<std::pair<std::string, int>> operators(const ModelFacts& facts) {
  std::map<std::string, int> counts;
  const Json graph = parse_json(facts.graph);
  for (const Json& node : graph["nodes"]) ++counts[node["op"].get<std::string>()];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::string operators_text(const std::vector<std::pair<std::string, int>>& sorted) {
  int nodes = 0;
  std::vector<std::string> parts;
  for (const auto& [name, count] : sorted) {
    nodes += count;
    parts.push_back(count == 1 ? name : fmt::format("{} {}", count, name));
  }
  return fmt::format("nodes    {}: {}\n", nodes, fmt::join(parts, ", "));
}

/// On one line, truncated where it is long, between characters.
std::string shortened(const std::string& value) {
  std::string text = one_line(value);
  if (text.size() <= longest_value) return text;
  std::size_t end = longest_value;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string metadata_text(const Engine& engine) {
  std::string text;
  for (const auto& [name, value] : engine.metadata()) {
    if (name.starts_with("lanner.preprocess.")) continue; // The engine's own text; shown under `pictures`.
    text += fmt::format("{:<9}{}: {}\n", text.empty() ? "says" : "", shortened(name), shortened(value));
  }
  return text;
}

std::string size_of_file(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? "" : ", " + bytes_text(size);
}

void print_foreign(const std::string& path, const ModelFile& file, bool json) {
  if (json)
    print_json({{"path", path},
                {"kind", "model"},
                {"format", file.format},
                {"readable", false},
                {"remedy", file.remedy}});
  else
    print_text(fmt::format("{}: {}{}\n{}\n", one_line(path), file.format, size_of_file(path), file.remedy));
}

/// Errors do not mention that the engine is not built.
ModelFacts facts_of(const std::string& path) {
  EngineOptions options;
  options.model = path;
  Files files;
  constexpr std::string_view build = "build ";
  try {
    return inspect(options, files);
  } catch (const Error& error) {
    if (!error.message().starts_with(fmt::format("{}{}: ", build, path))) throw;
    throw Error(error.code(), error.message().substr(build.size()));
  }
}

} // namespace

void print_model(const std::string& path, const ModelFile* file, bool json) {
  if (file && !file->remedy.empty()) {
    print_foreign(path, *file, json);
    return;
  }
  const ModelFacts facts = facts_of(path);
  const Engine& engine = *facts.engine;
  const ModelUse use = use_of(facts);
  const auto sorted = operators(facts);
  const std::vector<std::string> open = open_sizes(engine);
  const std::string format = file ? file->format : "a plan of Lanner";
  if (json) {
    Json counts = Json::object();
    for (const auto& [name, count] : sorted) counts[name] = count;
    print_json({{"path", path},
                {"kind", file ? "model" : "plan"},
                {"format", format},
                {"readable", true},
                {"details", file ? file->details : ""},
                {"inputs", bindings_json(engine.inputs())},
                {"outputs", bindings_json(engine.outputs())},
                {"open", open},
                {"operators", counts},
                {"metadata", engine.metadata()},
                {"task", task_json(use)},
                {"preprocessing", preprocess_json(use)},
                {"other_inputs", use.picture ? use.others : std::vector<std::string>()}});
    return;
  }
  std::string text =
      fmt::format("{}: {}{}{}\n", one_line(path), format,
                  file && !file->details.empty() ? ", " + file->details : "", size_of_file(path));
  text += bindings_text("inputs", engine.inputs());
  text += open.empty() ? "open     nothing: every size is fixed\n"
                       : one_line(fmt::format("open     {}", fmt::join(open, ", "))) + "\n";
  text += bindings_text("outputs", engine.outputs()) + operators_text(sorted) + metadata_text(engine);
  text += fmt::format("task     {}\npictures {}\n", one_line(told(use.task.has_value(), use.task_text)),
                      one_line(told(use.picture.has_value(), use.preprocessing)));
  if (use.picture)
    for (const std::string& input : use.others)
      text += fmt::format("besides  {}, by --inputs\n", one_line(input));
  print_text(text);
}

} // namespace lanner::tool
