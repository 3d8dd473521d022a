#pragma once
// What a model's author could change about single nodes, with the gain to expect, for `lanner explain
// --advise`.

#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace lanner {

struct Advice {
  std::string node;  ///< Name of the step, as in explain.
  std::string title; ///< The model's nodes that it computes.
  std::string text;
  /// At most so many seconds of a run, from the step's own time; nothing where it was not timed or where the
  /// gain is in items a second.
  std::optional<double> seconds;
};

/// By the largest gain first, those without one last.
std::vector<Advice> advice_on(const Program& program);

} // namespace lanner
