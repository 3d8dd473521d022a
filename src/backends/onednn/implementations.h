#pragma once
// Which of oneDNN's implementations of a primitive are worth timing, and how a plan names one.

#include <functional>
#include <string>
#include <vector>

#include "backends/config_text.h"
#include "backends/onednn/library.h"

namespace lanner::onednn {

/// A descriptor standing at one implementation.
struct Implementation {
  Descriptor descriptor;
  std::string name;
};

/// The first `most` implementations of different names that are not reference loops and not of a much older
/// instruction set than the first.
std::vector<Implementation> implementations(Descriptor descriptor, std::size_t most);

/// Moves to the first implementation of the name that a configuration has. Throws Error{unsupported} when
/// this oneDNN has none.
Implementation find_implementation(const std::function<Descriptor()>& make, const ConfigText& config);

void name_implementation(ConfigText& config, const Implementation& implementation);

} // namespace lanner::onednn
