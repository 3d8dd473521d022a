#pragma once
// What was decided for each node of a network in INT8, for metadata and the log.

#include <limits>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

namespace lanner {

/// What happened to one candidate.
struct NodeVerdict {
  bool int8 = true;
  double snr = std::numeric_limits<double>::quiet_NaN(); ///< In dB; NaN: not measured.
  std::string why = {};                                  ///< Why it stays in FP32.
  bool corrected = false;                                ///< Its bias is; `plain_snr`: without that.
  double plain_snr = std::numeric_limits<double>::quiet_NaN();
};

/// The metadata `lanner.int8`.
nlohmann::ordered_json report_of(const std::map<std::string, NodeVerdict>& verdicts, double network_snr);

/// Logs the same; `guarded`: there were data.
void tell(const std::string& model, const std::map<std::string, NodeVerdict>& verdicts, double network_snr,
          bool guarded);

} // namespace lanner
