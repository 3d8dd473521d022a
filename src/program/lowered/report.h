#pragma once
// What lowering decided and why, for `explain`; plans keep it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// Why a tactic may be taken.
enum class Trust : std::uint8_t {
  none,    ///< Nothing is known of it yet.
  checked, ///< It gave what the definition gives, on this machine or one like it.
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

/// What lowering decided for one node of the lowered graph, or was decided for the whole.
struct NodeReport {
  std::string node;                   ///< Name of its first output; empty: its notes tell of the whole.
  std::vector<Considered> considered; ///< Cheapest first.
  std::vector<std::string> notes;     ///< Why a backend offered nothing or less, what was left out.
};

} // namespace lanner
