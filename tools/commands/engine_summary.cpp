#include "commands/engine_summary.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/doctor.h>

#include "output/console.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

std::string kernel_of(const std::string& backend, const std::string& kernel) {
  return kernel.empty() ? backend : backend + ":" + kernel;
}

bool is_definition(const std::string& backend) {
  return backend == "reference" || backend == "interpreter";
}

std::string count(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

double whole_time(const std::vector<StepGroup>& groups) {
  double sum = 0;
  for (const StepGroup& group : groups) sum += group.seconds;
  return sum;
}

/// Of the portable graph, without constants.
std::size_t node_count(const std::string& graph) {
  return parse_json(graph)["nodes"].size();
}

std::string joined(const Json& list) {
  return one_line(fmt::format("{}", fmt::join(list.get<std::vector<std::string>>(), ", ")));
}

} // namespace

EngineSummary::EngineSummary(const Engine& engine, const ModelFacts& facts,
                             const std::optional<BuildTimes>& times)
    : plan_(parse_json(engine.explain_json())), simplified_(node_count(engine.graph_json())), times_(times) {
  if (!facts.plan) imported_ = node_count(facts.graph);
}

std::string EngineSummary::nodes_text() const {
  const std::size_t steps = plan_["nodes"].size();
  const std::string before =
      imported_ > 0 && imported_ != simplified_
          ? fmt::format("{}, {} after simplification,", count(imported_, "node"), simplified_)
          : count(simplified_, "node");
  return fmt::format("{} run in {}", before, count(steps, "step"));
}

std::string EngineSummary::text() const {
  const Json& target = plan_["target"];
  const Json& memory = plan_["memory"];
  const auto device = target["device"].get<std::string>();
  std::vector<std::string> where;
  if (device == "cpu")
    where = {fmt::format("cpu ({})", one_line(machine_facts().cpu)),
             count(target["threads"].get<std::size_t>(), "thread")};
  else
    where = {fmt::format("{} ({})", device, one_line(target["isa"].get<std::string>()))};
  std::string text =
      fmt::format("{}: {}, {}, on {}\n", one_line(plan_["name"].get<std::string>()), nodes_text(),
                  target["precision"]["types"].get<std::string>(), fmt::join(where, ", "));
  text +=
      fmt::format("inputs   {}\noutputs  {}\nmemory   weights {}, activations {}\n", joined(plan_["inputs"]),
                  joined(plan_["outputs"]), bytes_text(memory["weight_bytes"].get<std::uint64_t>()),
                  bytes_text(memory["arena_bytes"].get<std::uint64_t>()));
  if (times_)
    text += fmt::format("built    in {}{}\n", seconds_text(times_->seconds),
                        times_->tuning > 0
                            ? fmt::format(", {} of it timing kernels", seconds_text(times_->tuning))
                            : ", no kernel was timed");
  for (const Json& note : plan_["notes"])
    text += fmt::format("note     {}\n", one_line(note.get<std::string>()));
  return text;
}

Json EngineSummary::json() const {
  const Json& target = plan_["target"];
  Json json{{"name", plan_["name"]},
            {"inputs", plan_["inputs"]},
            {"outputs", plan_["outputs"]},
            {"imported_nodes", imported_ > 0 ? Json(imported_) : Json()},
            {"simplified_nodes", simplified_},
            {"steps", plan_["nodes"].size()},
            {"precision", target["precision"]["types"]},
            {"device", target["device"]},
            {"isa", target["isa"]},
            {"threads", target["threads"]},
            {"deterministic", target["deterministic"]},
            {"weight_bytes", plan_["memory"]["weight_bytes"]},
            {"arena_bytes", plan_["memory"]["arena_bytes"]},
            {"notes", plan_["notes"]}};
  if (times_) json["build"] = {{"seconds", times_->seconds}, {"tuning_seconds", times_->tuning}};
  return json;
}

std::vector<StepGroup> EngineSummary::groups(const std::vector<StepProfile>& profile) const {
  std::map<std::pair<std::string, std::string>, StepGroup> found;
  std::map<std::pair<std::string, std::string>, double> slowest;
  std::map<std::string, std::string> devices;
  const bool gpu = plan_["target"]["device"] != "cpu";
  for (const Json& node : plan_["nodes"])
    devices[node["name"].get<std::string>()] = node["device"].get<std::string>();
  const auto add = [&](const std::string& name, const std::string& kind, const std::string& backend,
                       const std::string& kernel, double seconds) {
    const std::pair key(kind, kernel_of(backend, kernel));
    StepGroup& group = found[key];
    group.kind = kind;
    group.kernel = key.second;
    group.by_definition = is_definition(backend);
    group.on_host = gpu && devices[name] == "cpu";
    group.seconds += seconds;
    if (group.steps++ == 0 || seconds > slowest[key]) {
      slowest[key] = seconds;
      group.first = name;
    }
  };
  for (const StepProfile& step : profile)
    if (step.runs > 0)
      add(step.name, step.op, step.backend, step.kernel, step.seconds / static_cast<double>(step.runs));
  if (profile.empty())
    for (const Json& node : plan_["nodes"])
      add(node["name"], node["kind"], node["backend"], node["kernel"], node["seconds"].get<double>());
  std::vector<StepGroup> groups;
  for (auto& [key, group] : found) groups.push_back(std::move(group));
  std::ranges::stable_sort(groups, std::ranges::greater{}, &StepGroup::seconds);
  if (whole_time(groups) <= 0) groups.clear();
  return groups;
}

std::string where_text(const std::vector<StepGroup>& groups) {
  constexpr std::size_t most = 7;
  constexpr double least = 0.01;
  const double whole = whole_time(groups);
  if (whole <= 0) return {};
  Table table({"share", "time", "what", "kernel", "steps"});
  std::size_t steps = 0;
  double rest = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const StepGroup& group = groups[i];
    if (i >= most || group.seconds < least * whole) {
      steps += group.steps;
      rest += group.seconds;
      continue;
    }
    table.add({fmt::format("{:.1f}%", 100 * group.seconds / whole), seconds_text(group.seconds),
               one_line(group.kind),
               one_line(group.kernel) + (group.by_definition ? " (by definition, no kernel)" : ""),
               std::to_string(group.steps)});
  }
  if (steps > 0)
    table.add({fmt::format("{:.1f}%", 100 * rest / whole), seconds_text(rest), "all others", "",
               std::to_string(steps)});
  return table.text();
}

Json where_json(const std::vector<StepGroup>& groups) {
  const double whole = whole_time(groups);
  Json json = Json::array();
  for (const StepGroup& group : groups)
    json.push_back({{"kind", group.kind},
                    {"kernel", group.kernel},
                    {"steps", group.steps},
                    {"seconds", group.seconds},
                    {"share", group.seconds / whole},
                    {"by_definition", group.by_definition}});
  return json;
}

std::string advice_text(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += fmt::format("  {}\n", one_line(sentence));
  return text;
}

} // namespace lanner::tool
