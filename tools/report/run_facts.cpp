#include "report/run_facts.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include <lanner/demuxer.h>
#include <lanner/doctor.h>

#include "options/limit_option.h"
#include "output/console.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_described = 200; ///< Most clips that are opened again for their properties.

/// Quoted for a shell.
std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=,+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// The stream that a player shows; empty for what cannot be opened again.
std::string clip_text(const RunInput& input) {
  if (input.still || input.source) return {};
  try {
    DemuxerOptions options;
    options.limits = given_limits();
    const auto demuxer = open_demuxer(open_path(input.path, given_limits()), options);
    const int video = demuxer->best_video();
    if (video < 0) return {};
    const StreamInfo& stream = demuxer->streams()[static_cast<std::size_t>(video)];
    std::string text = fmt::format("{}{}{}, {}x{}, {}", stream.codec, stream.profile.empty() ? "" : " ",
                                   stream.profile, stream.width, stream.height, stream.native_format);
    if (stream.mirror) text += ", shown mirrored";
    if (stream.rotation != 0) text += fmt::format(", shown rotated by {:g} degrees", stream.rotation);
    if (stream.average_rate.den > 0) text += fmt::format(", {:.5g} fps", stream.average_rate.to_double());
    if (demuxer->duration() > 0) text += fmt::format(", {:.2f} s", demuxer->duration());
    if (stream.frames > 0) text += fmt::format(", {} frames by its container", stream.frames);
    if (stream.bit_rate > 0) text += fmt::format(", {:.0f} kb/s", static_cast<double>(stream.bit_rate) / 1e3);
    return text;
  } catch (const Error&) { // An input that has gone since is listed by its name.
    return {};
  }
}

std::string input_text(const RunInput& input, bool described) {
  const std::string clip = described ? clip_text(input) : "";
  return named_size(input.path) + (clip.empty() ? "" : ": " + clip);
}

void add_inputs(const std::vector<RunInput>& inputs, Json& facts) {
  std::map<bool, Json> texts;
  std::size_t described = 0;
  for (const RunInput& input : inputs)
    texts[input.still].push_back(input_text(input, described++ < max_described));
  for (const auto& [still, list] : texts) {
    const char* name = still ? "image" : "clip";
    facts.push_back({name, list.size() == 1 ? list[0] : list});
  }
}

/// The backend with its version; for Lanner's own kernels the instruction sets that they use.
std::string kernels_text(const PartStatus& backend, const MachineFacts& machine) {
  if (backend.name == "cpu") return "Lanner's own, with " + machine.kernels;
  return backend.detail.substr(0, backend.detail.find(" by "));
}

} // namespace

std::string file_name(const std::string& path) {
  return fs::path(path).filename().string();
}

std::string named_size(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? file_name(path) : fmt::format("{}, {}", file_name(path), bytes_text(size));
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[64] = {};
  if (localtime_r(&now, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &parts);
  return text;
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string words((std::istreambuf_iterator<char>(file)), {});
  std::string text;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find('\0', begin), words.size());
    const std::string word = words.substr(begin, end - begin);
    text += (text.empty() ? "" : " ") + quoted(text.empty() ? file_name(word) : word);
    begin = end + 1;
  }
  return text;
}

Json facts_json(const ReportParts& parts) {
  const MachineFacts machine = machine_facts();
  const Json engine = parts.summary.json();
  Json facts = Json::array();
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) facts.push_back({name, text});
  };
  add("date", date());
  add("command", command_line());
  add(parts.facts.plan ? "plan" : "model", named_size(parts.model));
  add_inputs(parts.inputs, facts);
  for (const Binding& input : parts.engine.inputs()) add("input", input.to_string());
  for (const Binding& output : parts.engine.outputs()) add("output", output.to_string());
  add("task", parts.task);
  add("preprocessing", parts.picture.text());
  if (parts.then) {
    add("second network", named_size(parts.then->model()));
    add("its task", parts.then->task().reason);
    add("its preprocessing", parts.then->picture().text());
  }
  if (parts.batch > 1) add("batch", std::to_string(parts.batch));
  add("precision", engine["precision"].get<std::string>());
  if (engine.contains("build"))
    add("build",
        fmt::format("{}, {} of it timing kernels", seconds_text(engine["build"]["seconds"].get<double>()),
                    seconds_text(engine["build"]["tuning_seconds"].get<double>())));
  const auto device = engine["device"].get<std::string>();
  add("device", device == "cpu"
                    ? fmt::format("{}, {} threads of the network", machine.cpu, parts.engine.threads())
                    : fmt::format("{} ({}), host {}", device, engine["isa"].get<std::string>(), machine.cpu));
  Json backends = Json::array();
  for (const PartStatus& backend : machine.backends)
    if (backend.found && backend.name != "reference") backends.push_back(kernels_text(backend, machine));
  facts.push_back({"backend", backends.size() == 1 ? backends[0] : backends});
  return facts;
}

} // namespace lanner::tool
