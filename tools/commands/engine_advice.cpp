// What limits an engine's speed: only measurements and decisions, never guesses.

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/threads.h>

#include "commands/engine_summary.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

constexpr double least_share = 0.03; ///< A share of the time.

struct Share {
  double seconds = 0;
  std::vector<std::string> kinds;
};

template<typename Which>
Share share_of(const std::vector<StepGroup>& groups, Which&& which) {
  Share share;
  for (const StepGroup& group : groups) {
    if (!which(group)) continue;
    share.seconds += group.seconds;
    if (share.kinds.size() < 4) share.kinds.push_back(fmt::format("{} x{}", group.kind, group.steps));
  }
  return share;
}

void add_shares(const std::vector<StepGroup>& groups, std::vector<std::string>& sentences) {
  double whole = 0;
  for (const StepGroup& group : groups) whole += group.seconds;
  const auto add = [&](const Share& share, std::string_view what, const std::string& more) {
    if (whole > 0 && share.seconds >= least_share * whole)
      sentences.push_back(fmt::format("{:.0f} % of the time {}: {}{}", 100 * share.seconds / whole, what,
                                      fmt::join(share.kinds, ", "), more));
  };
  const auto slow = std::ranges::find(groups, true, &StepGroup::by_definition);
  add(share_of(groups, [](const StepGroup& group) { return group.by_definition; }),
      "is in nodes that run by their definition",
      slow == groups.end()
          ? ""
          : fmt::format("; `lanner explain FILE --node {}` says why no kernel supports it", slow->first));
  add(share_of(groups, [](const StepGroup& group) { return group.on_host && !group.by_definition; }),
      "is in steps that run on the host", "");
  add(share_of(groups, [](const StepGroup& group) { return group.kind == "reorder"; }),
      "converts values between kernels' layouts", "");
}

/// Nodes with several alternatives, and how many of them were chosen without timing.
std::pair<std::size_t, std::size_t> choices(const Json& plan) {
  std::size_t all = 0, guessed = 0;
  for (const Json& node : plan["nodes"]) {
    if (!node.contains("considered") || node["considered"].size() < 2) continue;
    ++all;
    guessed +=
        std::ranges::none_of(node["considered"], [](const Json& one) { return one["measured"].get<bool>(); });
  }
  return {all, guessed};
}

void add_choices(const Json& plan, std::vector<std::string>& sentences) {
  const auto [all, guessed] = choices(plan);
  if (guessed == 0) return;
  sentences.push_back(fmt::format(
      "{} of {} kernels were chosen by estimates, without timing: {}", guessed, all,
      plan["target"]["deterministic"].get<bool>() ? "--deterministic does no timing"
      : plan["open_sizes"].get<bool>()            ? "a build with --shape or --profile times them"
                                       : "a larger --budget times them (a run over images alone has none)"));
}

void add_target(const Json& plan, std::vector<std::string>& sentences) {
  const Json& target = plan["target"];
  const bool cpu = target["device"] == "cpu";
  const int threads = target["threads"].get<int>(), cores = default_threads();
  if (cpu && threads < cores)
    sentences.push_back(
        fmt::format("it runs on {} of {} available cores: --threads {}", threads, cores, cores));
  if (!cpu && target["precision"]["types"] == "fp32")
    sentences.push_back("only fp32 was allowed: --precision fp16 was not tried on this device");
}

void add_batches(const std::vector<Measurements::Batch>& batches, std::vector<std::string>& sentences) {
  const auto best = std::ranges::max_element(batches, {}, &Measurements::Batch::items_per_second);
  const auto least = std::ranges::min_element(batches, {}, &Measurements::Batch::size);
  if (best != batches.end() && best->size > least->size &&
      best->items_per_second > 1.05 * least->items_per_second)
    sentences.push_back(fmt::format("batch {} gives {:.2f} times as many items a second as batch {}",
                                    best->size, best->items_per_second / least->items_per_second,
                                    least->size));
  for (const Measurements::Batch& batch : batches)
    if (batch.runs >= 100 && batch.p99 > 2 * batch.p50)
      sentences.push_back(
          fmt::format("batch {}: one run in a hundred takes {:.1f} times the median or longer; were other "
                      "programs at work?",
                      batch.size, batch.p99 / batch.p50));
}

} // namespace

std::vector<std::string> EngineSummary::advice(const Measurements& measured) const {
  std::vector<std::string> sentences;
  add_shares(groups(measured.profile), sentences);
  add_choices(plan_, sentences);
  add_target(plan_, sentences);
  add_batches(measured.batches, sentences);
  return sentences;
}

} // namespace lanner::tool
