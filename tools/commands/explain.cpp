// lanner explain: what was decided for each node, and why.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/error.h>
#include <lanner/nearest.h>

#include "check.h"
#include "command.h"
#include "commands/explain_clip.h"
#include "input/media.h"
#include "options/engine_options.h"
#include "output/console.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

constexpr double default_budget = 10;
constexpr std::size_t most_names = 4; ///< In the overview; --node and --all show all.
constexpr std::size_t all_names = static_cast<std::size_t>(-1);

struct ExplainOptions {
  EngineOptions engine;
  std::string node;
  bool all = false, advise = false, json = false;
};

double total_seconds(const Json& plan) {
  double total = 0;
  for (const Json& node : plan["nodes"]) total += node["seconds"].get<double>();
  return total;
}

std::string storage_text(const Json& node) {
  std::string text;
  for (const Json& output : node["outputs"])
    text += (text.empty() ? "" : ", ") + output["type"].get<std::string>() + " " +
            output["storage"].get<std::string>();
  return one_line(text);
}

/// Long lists are `first + ... + last, 12 nodes`.
std::string shortened(const std::vector<std::string>& names, std::size_t most, std::string_view by,
                      std::string_view what) {
  if (names.size() <= most) return one_line(fmt::format("{}", fmt::join(names, by)));
  return one_line(fmt::format("{}{}...{}{}, {} {}", names.front(), by, by, names.back(), names.size(), what));
}

/// The nodes of the model that it computes, `conv1 + relu1`.
std::string title_text(const Json& node, std::size_t most) {
  std::vector<std::string> names;
  for (const Json& source : node["sources"])
    if (std::ranges::find(names, source.get<std::string>()) == names.end()) names.push_back(source);
  return shortened(names, most, " + ", "nodes");
}

std::string kind_text(const Json& node, std::size_t most) {
  const auto kind = node["kind"].get<std::string>();
  std::vector<std::string> parts;
  for (std::size_t first = 0; first <= kind.size();) {
    const std::size_t end = std::min(kind.find('+', first), kind.size());
    parts.push_back(kind.substr(first, end - first));
    first = end + 1;
  }
  return shortened(parts, most, "+", "operators");
}

std::string kernel_text(const Json& node) {
  const auto backend = node["backend"].get<std::string>(), kernel = node["kernel"].get<std::string>();
  const std::string name =
      kernel.empty() ? backend.empty() ? "-" : backend : backend + ":" + one_line(kernel);
  const int stream = node.value("stream", 0);
  return stream > 0 ? fmt::format("{} (stream {})", name, stream) : name;
}

/// Only where there are several possibilities.
bool shows_devices(const Json& plan) {
  return plan["target"]["devices"].size() > 1 || !plan["target"]["placement"]["nodes"].empty();
}

std::string count_text(double count) {
  if (count <= 0) return "-";
  return count >= 1e9   ? fmt::format("{:.2f} G", count / 1e9)
         : count >= 1e6 ? fmt::format("{:.1f} M", count / 1e6)
                        : fmt::format("{:.1f} k", count / 1e3);
}

/// Where it is a noticeable part.
std::string bytes_and_padding(const Json& node) {
  const double bytes = node["bytes"].get<double>(), padding = node["padding_bytes"].get<double>();
  const std::string text = bytes_text(node["bytes"].get<std::uint64_t>());
  return padding > 0.005 * bytes ? fmt::format("{}, {:.0f}% padding", text, 100 * padding / bytes) : text;
}

std::string share_text(double share) {
  return fmt::format("{:.1f}%", 100 * share);
}

std::string limit_text(const Json& node) {
  const Json& limit = node["limit"];
  if (limit.is_null() || limit["share"].is_null()) return "-";
  return fmt::format("{:.0f}% {}", 100 * limit["share"].get<double>(), limit["by"].get<std::string>());
}

std::string overview(const Json& plan) {
  Table table({"node", "kind", "kernel", "unit", "output", "bytes", "flops", "of all", "time", "share",
               "of limit", "from"});
  const double total = total_seconds(plan);
  const bool devices = shows_devices(plan);
  for (const Json& node : plan["nodes"]) {
    const double seconds = node["seconds"].get<double>(), flops = node["flops"].get<double>();
    const std::string kernel = kernel_text(node);
    table.add({one_line(node["name"].get<std::string>()), kind_text(node, most_names),
               devices ? fmt::format("{} on {}", kernel, node["device"].get<std::string>()) : kernel,
               node["matrix_unit"].get<std::string>(), storage_text(node), bytes_and_padding(node),
               count_text(flops), flops > 0 ? share_text(node["flops_share"].get<double>()) : "-",
               seconds > 0 ? seconds_text(seconds) : "-", total > 0 ? share_text(seconds / total) : "-",
               limit_text(node), title_text(node, most_names)});
  }
  return table.text();
}

std::string speed_details(const Json& node) {
  std::string text = fmt::format(
      "  matrix unit {}{}\n", node["matrix_unit"].get<std::string>(),
      node.contains("matrix_unit_reason") ? ": " + node["matrix_unit_reason"].get<std::string>() : "");
  text += fmt::format("  {} read and written, {} of it padding; {} flops, {} of the network's\n",
                      bytes_text(node["bytes"].get<std::uint64_t>()),
                      bytes_text(node["padding_bytes"].get<std::uint64_t>()),
                      count_text(node["flops"].get<double>()), share_text(node["flops_share"].get<double>()));
  const Json& limit = node["limit"];
  if (limit.is_null()) return text;
  return text + fmt::format("  at least {} by the machine's {}{}\n",
                            seconds_text(limit["seconds"].get<double>()),
                            limit["by"] == "compute" ? "arithmetic" : "memory",
                            limit["share"].is_null() ? ""
                                                     : fmt::format(": it runs at {:.0f}% of its limit",
                                                                   100 * limit["share"].get<double>()));
}

std::string details(const Json& node) {
  std::string text = fmt::format("{}: {} by {}, {}\n", one_line(node["name"].get<std::string>()),
                                 kind_text(node, all_names), kernel_text(node), storage_text(node));
  text += fmt::format("  runs on {}\n", node["device"].get<std::string>());
  text += speed_details(node);
  if (node.contains("accumulates"))
    text += fmt::format("  sums are kept in {}\n", node["accumulates"].get<std::string>());
  const std::string sources = title_text(node, all_names);
  if (!sources.empty()) text += fmt::format("  from {}\n", sources);
  for (const Json& input : node["inputs"])
    text += fmt::format("  input {} {} {}{}\n", one_line(input["name"].get<std::string>()),
                        one_line(input["type"].get<std::string>()), input["storage"].get<std::string>(),
                        input.contains("constant") ? " (constant)" : "");
  if (node.contains("considered"))
    for (const Json& one : node["considered"])
      text += fmt::format("  {} {}:{} {} {}{}\n", one["chosen"].get<bool>() ? "chosen  " : "rejected",
                          one["backend"].get<std::string>(), one_line(one["kernel"].get<std::string>()),
                          one["storage"].get<std::string>(), seconds_text(one["seconds"].get<double>()),
                          one["measured"].get<bool>() ? "" : " (estimated)");
  if (node.contains("notes"))
    for (const Json& note : node["notes"])
      text += fmt::format("  note    {}\n", one_line(note.get<std::string>()));
  return text;
}

std::string advice_text(const Json& plan) {
  if (plan["advice"].empty()) return "nothing about single nodes that the model's author could change\n";
  const double total = total_seconds(plan);
  std::string text;
  for (const Json& one : plan["advice"]) {
    std::string gain = "in items a second";
    if (!one["seconds"].is_null())
      gain = fmt::format("at most {}, {} of a run", seconds_text(one["seconds"].get<double>()),
                         share_text(one["seconds"].get<double>() / total));
    else if (total == 0)
      gain = "unknown, as kernels were not timed";
    text += fmt::format("{} ({}) {}\n  gain: {}\n", one_line(one["node"].get<std::string>()),
                        one_line(one["title"].get<std::string>()), one_line(one["text"].get<std::string>()),
                        gain);
  }
  return text;
}

std::string notes_text(const Json& plan) {
  std::string text;
  for (const Json& note : plan["notes"])
    text += fmt::format("note     {}\n", one_line(note.get<std::string>()));
  return text;
}

std::string sizes_text(const Json& sizes) {
  return fmt::format("{}", fmt::join(sizes.get<std::vector<std::int64_t>>(), "x"));
}

std::string profiles_text(const Json& plan) {
  std::string text;
  std::size_t number = 0;
  for (const Json& profile : plan["profiles"]) {
    const Json& bound = plan["memory"]["max_arena_bytes"][number];
    std::vector<std::string> parts;
    for (const auto& [input, range] : profile.items())
      parts.push_back(fmt::format("{} {} to {}, opt {}", one_line(input), sizes_text(range["min"]),
                                  sizes_text(range["max"]), sizes_text(range["opt"])));
    text +=
        fmt::format("profile  {}: {}{}\n", ++number, fmt::join(parts, "; "),
                    bound.is_null() ? "" : ", activations at most " + bytes_text(bound.get<std::uint64_t>()));
  }
  return text;
}

/// Shapes that kernels were chosen for, where there are several sets.
std::string variants_text(const Json& plan) {
  if (plan["variants"].size() < 2) return {};
  std::string text;
  for (const Json& variant : plan["variants"]) {
    std::vector<std::string> parts;
    for (const auto& [input, sizes] : variant["shapes"].items())
      parts.push_back(fmt::format("{} {}", one_line(input), sizes_text(sizes)));
    const double seconds = variant["seconds"].get<double>();
    text += fmt::format("variant  {}, {} threads: {} steps, activations {}{}\n", fmt::join(parts, ", "),
                        variant["threads"].get<int>(), variant["steps"].get<std::uint64_t>(),
                        bytes_text(variant["arena_bytes"].get<std::uint64_t>()),
                        seconds > 0 ? ", " + seconds_text(seconds) : "");
  }
  return text;
}

/// Where a memory budget keeps weights off the GPU.
std::string streamed_text(const Json& memory) {
  const Json& weights = memory["weights"];
  if (weights.is_null() || weights["ring"].get<std::uint64_t>() == 0) return {};
  const auto bytes = [&](const char* key) { return weights[key].get<std::uint64_t>(); };
  return fmt::format("streamed {} of weights through {} a context; {} stay on the GPU\n",
                     bytes_text(bytes("all") - bytes("resident")), bytes_text(bytes("ring")),
                     bytes_text(bytes("resident")));
}

std::string heading(const Json& plan) {
  const Json& target = plan["target"];
  const Json& memory = plan["memory"];
  const auto inputs = plan["inputs"].get<std::vector<std::string>>(),
             outputs = plan["outputs"].get<std::vector<std::string>>();
  return fmt::format(
      "{}: {} source nodes in {} steps, for {} ({}), {} threads\ninputs   {}\noutputs  "
      "{}\nmemory   weights {}, activations {}\n"
      "{}time     {} by the kernels' own timing\n{}{}{}\n",
      one_line(plan["name"].get<std::string>()), plan["source_nodes"].get<std::uint64_t>(),
      plan["nodes"].size(), target["device"].get<std::string>(), target["isa"].get<std::string>(),
      target["threads"].get<int>(), one_line(fmt::format("{}", fmt::join(inputs, ", "))),
      one_line(fmt::format("{}", fmt::join(outputs, ", "))),
      bytes_text(memory["weight_bytes"].get<std::uint64_t>()),
      bytes_text(memory["arena_bytes"].get<std::uint64_t>()), streamed_text(memory),
      seconds_text(total_seconds(plan)), profiles_text(plan), variants_text(plan), notes_text(plan));
}

std::string chosen_node(const Json& plan, const std::string& name) {
  std::vector<std::string> names;
  for (const Json& node : plan["nodes"]) {
    const auto sources = node["sources"].get<std::vector<std::string>>();
    if (node["name"] == name || std::ranges::find(sources, name) != sources.end()) return details(node);
    names.push_back(node["name"].get<std::string>());
    names.insert(names.end(), sources.begin(), sources.end());
  }
  fail(ErrorCode::invalid_argument, "--node: the plan has no node '{}'{}", name, did_you_mean(name, names));
}

int run_explain(const ExplainOptions& options) {
  if (kind_of(options.engine.model) == FileKind::clip) {
    check(options.node.empty() && !options.all && !options.advise && !options.engine.given.has("verify"),
          ErrorCode::invalid_argument,
          "explain: --node, --all, --advise and --verify are for models; {} is a video",
          options.engine.model);
    ReaderOptions reader;
    reader.follow(options.engine.given);
    explain_clip(options.engine.model, reader, options.json);
    return 0;
  }
  Files files;
  ModelFacts facts = inspect(options.engine, files);
  const Engine engine = open_engine(facts, options.engine, build_options(options.engine, default_budget), 1);
  if (!facts.plan) prepare_open(engine);
  const std::string text = engine.explain_json();
  if (options.json) {
    print_json_text(text + "\n");
    return 0;
  }
  const Json plan = parse_json(text);
  if (!options.node.empty()) {
    print_text(chosen_node(plan, options.node));
    return 0;
  }
  if (options.advise) {
    print_text(advice_text(plan));
    return 0;
  }
  print_text(heading(plan) + overview(plan));
  if (options.all)
    for (const Json& node : plan["nodes"]) print_text("\n" + details(node));
  return 0;
}

} // namespace

void add_explain(Command& program, Action& action) {
  auto [command, options] = make_command<ExplainOptions>(
      program, action, "explain", "Show what was decided for each node of a plan, or for a clip, and why.",
      run_explain);
  command.add_option("file", options->engine.model, "A plan, a model (it is built first) or a clip")
      .required();
  command.add_option("--node", options->node,
                     "Details of one node, by its name or that of a node of the model: inputs, every kernel "
                     "that was tried, notes");
  command.add_flag("--all", options->all, "The same details of every node");
  command.add_flag("--advise", options->advise,
                   "What the model's author could change about single nodes, and the gain to expect");
  command.add_flag("--json", options->json, "Everything as one JSON object");
  add_engine_options(command, options->engine, {OptionUse::plans, OptionUse::profiles});
  command.layout("What is shown", {"--node", "--all", "--advise", "--json", "--shape", "--precision",
                                   "--budget", "--device", "--threads"});
  command.footer("Examples:\n  lanner explain model.plan\n  lanner explain clip.mp4\n  lanner explain "
                 "model.plan --node conv1\n  "
                 "lanner explain model.plan --json | jq '.nodes[] | {name, kernel, seconds}'");
}

} // namespace lanner::tool
