#include "calibration/tensorrt_cache.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "calibration/table_lines.h"
#include "calibration/thresholds.h"

namespace lanner {
namespace {

constexpr std::string_view prefix = "TRT-";

/// `TRT-8401-EntropyCalibration2`: the version may be anything, as scripts that write caches make it up.
Calibrator calibrator_of(std::string_view header) {
  const std::size_t dash = header.rfind('-');
  const std::string_view kind = header.substr(dash + 1);
  if (kind == "EntropyCalibration2") return Calibrator::entropy2;
  if (kind == "EntropyCalibration") return Calibrator::entropy;
  if (kind == "MinMaxCalibration") return Calibrator::min_max;
  if (kind == "LegacyCalibration") return Calibrator::legacy;
  fail(ErrorCode::bad_data,
       "line 1: expected EntropyCalibration2, EntropyCalibration, MinMaxCalibration or LegacyCalibration "
       "after "
       "the version of TensorRT, got {}",
       in_message(header));
}

double scale_of(std::string_view digits) {
  std::uint32_t bits = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, bits, 16);
  if (error != std::errc() || end != last || digits.empty() || digits.size() > 8)
    fail(ErrorCode::bad_data, "expected a scale of up to 8 hexadecimal digits, such as 3c010a14, got {}",
         in_message(digits));
  const double scale = std::bit_cast<float>(bits);
  check(std::isfinite(scale) && scale >= 0, ErrorCode::bad_data,
        "scale {} is {}: expected a finite number of at least 0", digits, scale);
  return scale;
}

} // namespace

bool is_tensorrt_cache(std::string_view text) {
  return text.starts_with(prefix);
}

CalibrationTable parse_tensorrt_cache(std::string_view text) {
  CalibrationTable table;
  const Calibrator calibrator = calibrator_of(next_line(text));
  for_each_line(text, 2, [&](std::string_view line) {
    const std::size_t colon = line.rfind(": ");
    if (colon == std::string_view::npos)
      fail(ErrorCode::bad_data, "expected 'tensor: scale', got {}", in_message(line));
    const double threshold = usable_threshold(127 * scale_of(line.substr(colon + 2)));
    add_range(table, std::string(line.substr(0, colon)), {-threshold, threshold, threshold, calibrator});
  });
  return table;
}

} // namespace lanner
