#pragma once
// The kernel families of oneDNN, and their shared helpers.

#include <span>

#include "backends/family.h"

namespace lanner::onednn {

/// All of them.
std::span<const KernelFamily> families();

/// oneDNN's versions that the sweep over tactics has verified: docs/tactics.md.
inline constexpr KernelTrust swept_versions = KernelTrust::swept({"2.6.", "3.2."});

/// The activation layouts worth trying for a tensor N, C, spatial...: channels last, channels blocked by the
/// vector width, row-major.
std::vector<Layout> activation_layouts(std::size_t rank);

} // namespace lanner::onednn
