#include "calls/warnings.h"

#include <utility>

#include <lanner/log.h>

namespace lanner::python {

thread_local GatheredWarnings* GatheredWarnings::current = nullptr;

GatheredWarnings::GatheredWarnings() : outer_(std::exchange(current, this)) {}

GatheredWarnings::~GatheredWarnings() {
  current = outer_;
}

void GatheredWarnings::give() {
  for (const std::string& message : std::exchange(messages_, {}))
    nb::module_::import_("warnings")
        .attr("warn")(text_of(message, "replace"), nb::borrow(PyExc_RuntimeWarning));
}

void register_warnings(nb::module_&) {
  set_log_callback([](LogLevel level, std::string_view message) {
    GatheredWarnings* gathering = GatheredWarnings::current;
    if (gathering && level == LogLevel::warning) gathering->messages_.emplace_back(message);
  });
}

} // namespace lanner::python
