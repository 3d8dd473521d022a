#include "tactics/rows.h"

#include <algorithm>
#include <fstream>
#include <span>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/version.h>

#include "backends/backends.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/text/json.h"
#include "device/cpu.h"
#include "device/cuda/gpu.h"
#include "program/lowered/lowered.h"
#include "program/lowered/signature.h"

namespace lanner::sweep {
namespace {

std::string hashed(const std::string& text) {
  return hash_hex(std::as_bytes(std::span(text)));
}

/// The config as text if it is printable.
std::string config_text(const std::vector<std::byte>& config) {
  const bool readable = std::ranges::all_of(
      config, [](std::byte byte) { return byte >= std::byte{' '} && byte <= std::byte{'~'}; });
  std::string text;
  for (const std::byte byte : config)
    text += readable ? std::string(1, static_cast<char>(byte)) : fmt::format("{:02x}", byte);
  return text;
}

/// The narrowest real type that values are stored in.
std::string precision_of(const Node& node, const Tactic& tactic) {
  std::set<DType> types;
  const auto add = [&](const Value& value, const Storage& storage) {
    if (value.type.is_tensor()) types.insert(storage.dtype.value_or(value.type.dtype()));
  };
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    if (const Value* value = node.inputs()[i]) add(*value, tactic.inputs.at(i));
  for (std::size_t o = 0; o < node.outputs().size(); ++o) add(*node.output(o), tactic.outputs.at(o));
  if (types.contains(DType::bf16)) return "bf16";
  if (types.contains(DType::f16)) return "fp16";
  if (types.contains(DType::f32)) return "fp32";
  return types.contains(DType::f64) ? "fp64" : "integers";
}

std::vector<std::string> storages(const std::vector<Storage>& list) {
  std::vector<std::string> texts;
  for (const Storage& storage : list) texts.push_back(storage.to_string());
  return texts;
}

Row start_row(const char* what, const Machine& machine, const std::string& key) {
  return {{"what", what},
          {"key", key},
          {"lanner", version()},
          {"device", machine.device},
          {"libraries", machine.libraries}};
}

} // namespace

Machine machine_of(const Target& target) {
  if (!target.device.is_host()) {
    const std::string name = cuda::Gpu::get(target.device).signature();
    std::string libraries = target.isa.starts_with(name) ? target.isa.substr(name.size()) : target.isa;
    libraries.erase(0, libraries.find_first_not_of(' '));
    return {name, libraries};
  }
  Machine machine{fmt::format("{} ({})", cpu_name(), target.isa), ""};
  for (const Backend* backend : backends_for(target))
    if (!backend->version().empty())
      machine.libraries +=
          fmt::format("{}{} {}", machine.libraries.empty() ? "" : ", ", backend->name(), backend->version());
  return machine;
}

std::string key_of(const std::string& problem, const Machine& machine, const Target& target) {
  return hashed(
      fmt::format("{}|{}|{}|{}|{}", version(), machine.device, machine.libraries, target.threads, problem));
}

std::string key_of(const Problem& problem, const Offer& offer, const Machine& machine, const Target& target) {
  std::string text = fmt::format("{}|{}|{}|{}|", offer.backend->name(), offer.backend->version(),
                                 offer.tactic.kernel, signature(*problem.node));
  for (const Storage& storage : offer.tactic.inputs) text += storage.to_string() + ",";
  for (const Storage& storage : offer.tactic.outputs) text += ">" + storage.to_string();
  text += config_text(offer.tactic.config);
  return key_of(text, machine, target);
}

Row tactic_row(const Problem& problem, const Offer& offer, const Machine& machine, const std::string& key) {
  Row row = start_row("tactic", machine, key);
  row["backend"] = offer.backend->name();
  row["kernel"] = offer.tactic.kernel;
  row["config"] = config_text(offer.tactic.config);
  row["inputs"] = storages(offer.tactic.inputs);
  row["outputs"] = storages(offer.tactic.outputs);
  row["precision"] = precision_of(*problem.node, offer.tactic);
  row["problem"] = problem.text;
  row["networks"] = problem.networks;
  row["uses"] = problem.uses;
  return row;
}

Row problem_row(const Problem& problem, const Machine& machine, const std::string& key) {
  Row row = start_row("problem", machine, key);
  row["problem"] = problem.text;
  row["precision"] = problem.precision;
  row["networks"] = problem.networks;
  return row;
}

Row build_row(const Origin& origin, std::int64_t batch, const Machine& machine, const std::string& key) {
  Row row = start_row("build", machine, key);
  row["problem"] = fmt::format("{} at batch {}", origin.network, batch);
  row["precision"] = origin.precision;
  row["networks"] = {origin.network};
  return row;
}

void conclude(Row& row, const Finding& finding, double seconds) {
  row["verdict"] = !finding.wrong.empty() ? "wrong" : finding.untried.empty() ? "right" : "untried";
  row["reason"] = finding.wrong + finding.untried;
  row["seconds"] = seconds;
}

std::set<std::string> keys_in(const std::filesystem::path& log) {
  std::set<std::string> keys;
  std::ifstream file(log);
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    try {
      keys.insert(parse_json(line).at("key").get<std::string>());
    } catch (const std::exception&) {
      fail(ErrorCode::bad_data, "{}, line {}: expected a row of a sweep, got '{}'; remove the line",
           log.string(), number, line.substr(0, 60));
    }
  }
  return keys;
}

} // namespace lanner::sweep
