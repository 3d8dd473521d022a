#pragma once
// Report of lowering's decisions and reasons, for `explain`; plans store it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// Why a tactic may be used.
enum class Trust : std::uint8_t {
  none,    ///< Not checked and not on the list.
  checked, ///< Its results agreed with the definition's, on this machine or an equal one.
  trusted, ///< It is on the project's list, see trusted().
};
std::string_view to_string(Trust trust);
Trust parse_trust(std::string_view text); ///< `none` for any other text.

/// A tactic that was considered for a node.
struct Considered {
  std::string backend, kernel, storage; ///< Storage in short: `aBcd16b -> aBcd16b`.
  double seconds = 0;
  bool measured = false, chosen = false;
  Trust trust = Trust::none;
};

/// Decisions for one node of the lowered graph, or for the whole graph.
struct NodeReport {
  std::string node;                   ///< Name of its first output; empty: notes on the whole graph.
  std::vector<Considered> considered; ///< Cheapest first.
  std::vector<std::string> notes;     ///< Why a backend offered nothing or less, and rejected tactics.
};

} // namespace lanner
