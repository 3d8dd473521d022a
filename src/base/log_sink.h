#pragma once

namespace lanner {

/// Whether anybody is told what the calling thread gives to log_message() (lanner/log.h).
bool log_is_heard();

} // namespace lanner
