#include "program/lowered/report.h"

namespace lanner {

std::string_view to_string(Trust trust) {
  return trust == Trust::checked ? "checked" : trust == Trust::trusted ? "trusted" : "none";
}

Trust parse_trust(std::string_view text) {
  for (const Trust trust : {Trust::checked, Trust::trusted})
    if (text == to_string(trust)) return trust;
  return Trust::none;
}

} // namespace lanner
