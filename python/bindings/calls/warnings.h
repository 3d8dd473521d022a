#pragma once
// Forwards the library's warnings to Python's warnings.

#include <string>
#include <vector>

#include "calls/bindings.h"

namespace lanner::python {

/// Collects the library's warnings on this thread during its lifetime; give() passes them to Python's
/// `warnings`.
class GatheredWarnings {
public:
  GatheredWarnings();
  ~GatheredWarnings();
  GatheredWarnings(const GatheredWarnings&) = delete;
  GatheredWarnings& operator=(const GatheredWarnings&) = delete;

  /// Needs the GIL. Raises where a filter turns warnings into errors.
  void give();

private:
  friend void register_warnings(nb::module_& module);
  static thread_local GatheredWarnings* current;

  GatheredWarnings* outer_;
  std::vector<std::string> messages_;
};

/// Warnings of other threads are dropped, since those must not take the GIL.
void register_warnings(nb::module_& module);

} // namespace lanner::python
