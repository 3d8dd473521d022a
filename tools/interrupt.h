#pragma once
// Ctrl-C as a CancelToken.

#include <lanner/cancel.h>

namespace lanner::tool {

/// The token that SIGINT, SIGTERM and SIGHUP set. The first call installs the handlers; a second signal ends
/// the process at once.
const CancelToken& interrupt_token();
/// Whether a signal was received.
bool interrupted();

} // namespace lanner::tool
