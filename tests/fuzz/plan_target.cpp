#include <algorithm>
#include <cstring>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "base/hash.h"
#include "device/cpu.h"
#include "engine/plan_file/plan_file.h"
#include "fuzz/targets.h"
#include "tensor/safetensors.h"

namespace lanner::fuzz {

namespace {

using Json = nlohmann::ordered_json;

/// A plan in an editable format: sections that begin with a line `=== NAME`. `entries` holds the tensors of
/// the file's header, `data` their bytes; missing bytes at the end are zero.
std::map<std::string, std::string> sections(std::string_view text) {
  std::map<std::string, std::string> result;
  std::string* section = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    if (line.starts_with("=== ") && line.ends_with('\n'))
      section = &result[std::string(line.substr(4, line.size() - 5))];
    else if (section)
      section->append(line);
    text.remove_prefix(end);
  }
  return result;
}

/// So that loading neither times kernels nor depends on the machine on which the corpus was made.
std::string adapted_target(const std::string& text) {
  Json target = Json::parse(text, nullptr, false);
  if (!target.is_object()) return text;
  target["budget"] = 0;
  target["deterministic"] = true;
  if (target.contains("isa") && target["isa"] == "here") target["isa"] = cpu_features().to_string();
  return target.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::uint64_t end_of(const Json& entries) {
  std::uint64_t end = 0;
  for (const auto& [name, entry] : entries.items()) {
    const auto offsets = entry.is_object() ? entry.find("data_offsets") : entry.end();
    if (!entry.is_object() || offsets == entry.end() || !offsets->is_array() || offsets->size() != 2)
      continue;
    if ((*offsets)[1].is_number_unsigned()) end = std::max(end, (*offsets)[1].get<std::uint64_t>());
  }
  return std::min<std::uint64_t>(end, 1 << 16);
}

std::string file_of(const Json& header, const std::string& data) {
  const std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::uint64_t size = text.size();
  std::string file(sizeof size, '\0');
  std::memcpy(file.data(), &size, sizeof size);
  return file + text + data;
}

/// The digest that the loader expects.
std::string digest_of(const std::string& file) {
  const Safetensors opened = Safetensors::open(open_bytes(std::as_bytes(std::span(file))), small_limits());
  Hasher hasher;
  for (const auto& [key, value] : opened.metadata()) hasher.update(fmt::format("{}={};", key, value));
  for (const SafetensorsEntry& entry : opened.entries()) {
    hasher.update(fmt::format("{}:{}{};", entry.name, to_string(entry.dtype), entry.shape.to_string()));
    hasher.update(opened.bytes(entry));
  }
  return hasher.hex();
}

std::string assemble(std::string_view text) {
  auto parts = sections(text);
  Json header = Json::parse(parts["entries"], nullptr, false);
  if (!header.is_object()) header = Json::object();
  std::string data = parts["data"];
  data.resize(end_of(header));
  std::vector<std::string> names{"ir", "lowered", "reports"};
  // More variants than the table lists are useless; fewer are one of the mutations to test.
  for (const char* name : {"lowered.1", "reports.1"})
    if (parts.contains(name)) names.emplace_back(name);
  for (const std::string& name : names) {
    const std::string& part = parts[name];
    header[name] = {{"dtype", "U8"},
                    {"shape", {part.size()}},
                    {"data_offsets", {data.size(), data.size() + part.size()}}};
    data += part;
  }
  header["__metadata__"] = {{"lanner.plan", std::to_string(plan_version)},
                            {"lanner.target", adapted_target(parts["target"])},
                            {"lanner.weights", parts["weights"]}};
  if (parts.contains("variants")) header["__metadata__"]["lanner.variants"] = parts["variants"];
  if (parts.contains("operators")) header["__metadata__"]["lanner.operators"] = parts["operators"];
  header["__metadata__"]["lanner.digest"] = digest_of(file_of(header, data));
  return file_of(header, data);
}

Shape small_shape(const Binding& input, std::int64_t open) {
  std::vector<std::int64_t> sizes = input.dims;
  for (std::int64_t& size : sizes)
    if (size < 0) size = open;
  return Shape(sizes);
}

/// Whatever a plan says, its kernels must stay within their buffers. `open`: sizes that the network leaves
/// open.
void run(const Engine& engine, std::int64_t open) {
  Context context = engine.create_context({.threads = 1});
  for (const Binding& input : engine.inputs()) {
    if (input.sequence || !input.ranked) return;
    Tensor tensor = Tensor::allocate(input.dtype, small_shape(input, open));
    if (tensor.bytes() > 1 << 16) return;
    if (input.dtype != DType::string) std::memset(tensor.data(), 0, tensor.bytes());
    context.bind(input.name, tensor);
  }
  context.run();
}

/// Whether the loader could not read a text, a table or the file itself: parser errors have a position.
bool is_unreadable(const Error& error) {
  static const std::regex place("[0-9]+:[0-9]+: |: JSON|table of the plan|safetensors");
  return std::regex_search(error.message(), place);
}

Engine load(const std::string& plan, const LoadOptions& options) {
  try {
    Engine engine = Engine::load(open_bytes(std::as_bytes(std::span(plan))), options);
    ++plan_counts().parsed;
    return engine;
  } catch (const Error& error) {
    plan_counts().parsed += !is_unreadable(error);
    throw;
  }
}

} // namespace

PlanCounts& plan_counts() {
  static PlanCounts counts;
  return counts;
}

void read_plan(std::span<const std::byte> input) {
  const std::string_view text = as_text(input);
  ++plan_counts().plans;
  const std::string plan = assemble(text);
  LoadOptions options;
  options.threads = 1;
  options.limits = small_limits();
  const Engine engine = load(plan, options);
  ++plan_counts().loaded;
  static_cast<void>(engine.explain_json());
  static_cast<void>(engine.ir());
  static_cast<void>(engine.lowered_ir());
  // A loop may ask for more iterations than a fuzzer has time for.
  if (text.find("loop") != std::string_view::npos || text.find("scan") != std::string_view::npos) return;
  run(engine, 1);
  if (text.find("=== variants\n") != std::string_view::npos)
    run(engine, 4); // the batch of the seed's second variant
  ++plan_counts().ran;
}

} // namespace lanner::fuzz
