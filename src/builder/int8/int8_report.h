#pragma once
// What was decided for each node of a network in INT8, for metadata and the log.

#include <limits>
#include <map>
#include <set>
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

/// Of a network.
struct Int8Report {
  std::map<std::string, NodeVerdict> verdicts; ///< By node.
  double network_snr = 0;                      ///< Of the outputs.
  std::set<std::string> equalised;             ///< Nodes that read equalised channels.
  double plain_network_snr = 0;                ///< Of the outputs without that.

  /// The metadata `lanner.int8`.
  nlohmann::ordered_json json() const;
  /// Logs the same; `guarded`: there were data.
  void tell(const std::string& model, bool guarded) const;
};

} // namespace lanner
