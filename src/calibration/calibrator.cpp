// Names of calibrators.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <lanner/calibration.h>
#include <lanner/nearest.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "base/text/one_line.h"

namespace lanner {
namespace {

constexpr std::array<std::pair<Calibrator, std::string_view>, 6> names{{
    {Calibrator::automatic, "auto"},
    {Calibrator::entropy, "entropy"},
    {Calibrator::entropy2, "entropy2"},
    {Calibrator::min_max, "minmax"},
    {Calibrator::percentile, "percentile"},
    {Calibrator::legacy, "legacy"},
}};

} // namespace

Calibrator parse_calibrator(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [calibrator, known_name] : names) {
    if (known_name == name) return calibrator;
    known.emplace_back(known_name);
  }
  fail(ErrorCode::invalid_argument, "calibrator '{}': expected one of {}{}", one_line(name, 40),
       joined(known, ", "), did_you_mean(name, known));
}

std::string_view calibrator_name(Calibrator calibrator) {
  for (const auto& [known, name] : names)
    if (known == calibrator) return name;
  fail(ErrorCode::internal, "calibrator {} has no name", static_cast<int>(calibrator));
}

} // namespace lanner
