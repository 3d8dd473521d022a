#include "base/text/decimal.h"

#include <charconv>
#include <cstdlib>
#include <string>

#include <locale.h>

namespace lanner {

double shortest_decimal(float value) {
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, value);
  double number = 0;
  std::from_chars(text, written.ptr, number);
  return number;
}

// from_chars does not say on which side of the range a number lies, and strtod ends at the point of 1.5e400
// where the process's locale has a comma.
double beyond_range(std::string_view number) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(std::string(number).c_str(), nullptr, plain);
}

} // namespace lanner
