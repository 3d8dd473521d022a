#include "graph/storage.h"

namespace lanner {

bool Storage::is_default() const noexcept {
  return !dtype && layout.order.empty() && layout.blocks.empty() && device == Device{} && scale == 0 &&
         zero == 0 && !parent && offset == 0;
}

} // namespace lanner
