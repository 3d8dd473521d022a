#include <lanner/cancel.h>

#include <lanner/error.h>

namespace lanner {

void CancelToken::check() const {
  if (cancelled()) fail(ErrorCode::cancelled, "cancelled by the caller");
}

} // namespace lanner
