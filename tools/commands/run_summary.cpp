#include "commands/run_summary.h"

#include <fmt/format.h>

namespace lanner::tool {

std::string run_summary(const RunTotals& totals, const EngineSummary& engine, const EngineSummary* then) {
  constexpr std::size_t most = 3;
  const StageTimes stages = totals.stages();
  std::string text = "\n" + engine.text();
  const std::string shares = stages.shares_text();
  if (!shares.empty()) text += fmt::format("stages   {}\n         {}\n", shares, stages.limit_text());
  if (then) text += "\nthen " + then->text();
  std::vector<std::string> advice = engine.advice({});
  if (advice.size() > most) advice.resize(most);
  return advice.empty() ? text : text + "\nwhat holds the network back\n" + advice_text(advice);
}

} // namespace lanner::tool
