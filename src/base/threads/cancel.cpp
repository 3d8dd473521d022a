#include <lanner/cancel.h>

#include <lanner/error.h>

#include "base/limits/account.h"
#include "base/check.h"

namespace lanner {

void CancelToken::check() const {
  if (cancelled()) fail(ErrorCode::cancelled, "cancelled by the caller");
  check_deadline();
}

} // namespace lanner
