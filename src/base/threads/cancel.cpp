#include <lanner/cancel.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"

namespace lanner {

void CancelToken::check() const {
  if (cancelled()) fail(ErrorCode::cancelled, "cancelled by the caller");
  check_deadline();
}

} // namespace lanner
