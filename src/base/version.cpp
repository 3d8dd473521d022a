#include <lanner/version.h>

namespace lanner {

std::string_view version() noexcept {
  return LANNER_VERSION;
}

} // namespace lanner
