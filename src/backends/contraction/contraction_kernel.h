#pragma once
// The kernel of convolutions and products of bytes and of bf16: as products of matrices, whose rows are
// gathered.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/config_text.h"
#include "backends/contraction/block.h"
#include "backends/contraction/contraction.h"
#include "backends/family.h"

namespace lanner {

/// How a contraction's weights lie for a set of functions.
struct PanelForm {
  Layout layout;       ///< That the tactic requires; row-major where the kernel makes a copy of its own.
  bool copied = false; ///< Whether it does: where a step would take numbers of several taps or groups.
};
PanelForm panel_form(const Contraction& contraction, const BlockFunctions& functions);

/// How the rows of a contraction lie while it is computed: each by itself, or as parts of padded lines that
/// they share (image_rows.h).
enum class RowForm : std::uint8_t { gathered, shared };
std::vector<RowForm> row_forms(const Contraction& contraction, const BlockFunctions& functions);
std::vector<std::byte> contraction_config(const BlockFunctions& functions, RowForm form, int threads);
/// The form in such a configuration.
RowForm row_form_of(const ConfigText& config);

/// Why this contraction cannot be computed by these functions; empty where it can.
std::string contraction_refusal(const Contraction& contraction, const BlockFunctions& functions);

/// A tactic with these functions on one thread, its rows gathered, without an estimate. Nothing where one
/// input would need two storages.
std::optional<Tactic> contraction_tactic(const Node& node, const Contraction& contraction,
                                         const BlockFunctions& functions, std::string_view kernel);

/// Tactics with this processor's best functions.
TacticList contraction_tactics(const Node& node, const Contraction& contraction, const Target& target,
                               std::string_view kernel);
/// Throws Error{unsupported}, with `reason`, where there is no contraction, or not by the tactic's functions.
std::unique_ptr<Kernel> contraction_prepare(const Preparation& preparation,
                                            const std::optional<Contraction>& contraction,
                                            const std::string& reason);

} // namespace lanner
