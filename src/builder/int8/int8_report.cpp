#include "builder/int8/int8_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lanner/log.h>

namespace lanner {
namespace {

using Json = nlohmann::ordered_json;

std::size_t corrected_in(const std::map<std::string, NodeVerdict>& verdicts) {
  return static_cast<std::size_t>(std::ranges::count_if(
      verdicts, [](const auto& one) { return one.second.int8 && one.second.corrected; }));
}

} // namespace

Json Int8Report::json() const {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json nodes = Json::array();
  std::size_t int8 = 0;
  for (const auto& [node, verdict] : verdicts) {
    int8 += verdict.int8 ? 1 : 0;
    Json one{{"node", node}, {"int8", verdict.int8}, {"snr_db", number(verdict.snr)}};
    if (!verdict.why.empty()) one["why"] = verdict.why;
    if (verdict.int8 && verdict.corrected) {
      one["bias_corrected"] = true;
      one["uncorrected_snr_db"] = number(verdict.plain_snr);
    }
    if (equalised.contains(node)) one["equalised"] = true;
    nodes.push_back(std::move(one));
  }
  Json all{{"int8_nodes", int8},
           {"bias_corrected_nodes", corrected_in(verdicts)},
           {"equalised_nodes", equalised.size()},
           {"outputs_snr_db", number(network_snr)}};
  if (!equalised.empty()) all["unequalised_outputs_snr_db"] = number(plain_network_snr);
  all["nodes"] = std::move(nodes);
  return all;
}

void Int8Report::tell(const std::string& model, bool guarded) const {
  std::size_t int8 = 0;
  for (const auto& [node, verdict] : verdicts) {
    int8 += verdict.int8 ? 1 : 0;
    if (verdict.int8) continue;
    const std::string ratio = std::isnan(verdict.snr) ? "" : fmt::format("{:.1f} dB, ", verdict.snr);
    log_message(LogLevel::info, fmt::format("{}: %{} stays in FP32: {}{}", model, node, ratio, verdict.why));
  }
  log_message(guarded ? LogLevel::info : LogLevel::warning,
              fmt::format("{}: {} of {} convolutions and products are in INT8{}", model, int8,
                          verdicts.size(),
                          guarded ? fmt::format(", {} with corrected biases, {} of equalised channels; the "
                                                "outputs' signal-to-noise ratio is {:.1f} dB",
                                                corrected_in(verdicts), equalised.size(), network_snr)
                                  : "; not guarded, as no calibration data was given"));
}

} // namespace lanner
