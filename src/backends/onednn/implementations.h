#pragma once
// Which of oneDNN's implementations of a primitive are worth timing, and how a plan names one.

#include <functional>
#include <string>
#include <vector>

#include "backends/config_text.h"
#include "backends/onednn/library.h"

namespace lanner::onednn {

/// A descriptor positioned at one implementation.
struct Implementation {
  Descriptor descriptor;
  std::string name;
};

/// The first `most` implementations with different names, without reference loops and without those for a
/// much older instruction set than the first one's.
std::vector<Implementation> implementations(Descriptor descriptor, std::size_t most);

/// Moves to the first implementation of the name in the configuration. Throws Error{unsupported} when this
/// oneDNN has none.
Implementation find_implementation(const std::function<Descriptor()>& make, const ConfigText& config);

void name_implementation(ConfigText& config, const Implementation& implementation);

} // namespace lanner::onednn
