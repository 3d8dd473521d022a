#pragma once

namespace lanner {

/// Whether log_message() (lanner/log.h) of the calling thread reaches a sink.
bool log_is_enabled();

} // namespace lanner
