#pragma once
// How a clip is read: by which decoder, why, and where decoding may begin.

#include <string>

#include "options/reader_options.h"

namespace lanner::tool {

/// Prints text, or one JSON object. Damage is no error.
void explain_clip(const std::string& path, const ReaderOptions& options, bool json);

} // namespace lanner::tool
