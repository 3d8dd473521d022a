#pragma once
// The library's warnings as Python's.

#include <string>
#include <vector>

#include "calls/bindings.h"

namespace lanner::python {

/// Gathers what the library warns of on this thread while it lives; give() hands it to Python's `warnings`.
class GatheredWarnings {
public:
  GatheredWarnings();
  ~GatheredWarnings();
  GatheredWarnings(const GatheredWarnings&) = delete;
  GatheredWarnings& operator=(const GatheredWarnings&) = delete;

  /// With the GIL. Raises where a filter makes warnings errors.
  void give();

private:
  friend void register_warnings(nb::module_& module);
  static thread_local GatheredWarnings* current;

  GatheredWarnings* outer_;
  std::vector<std::string> messages_;
};

/// Other threads' messages are dropped: Python's lock is not theirs to take.
void register_warnings(nb::module_& module);

} // namespace lanner::python
