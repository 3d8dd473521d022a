#pragma once
// How a clip is read: by which decoder, why, and where decoding may begin.

#include <string>

namespace lanner::tool {

/// `device` as --device takes it. Prints text for people, or one JSON object.
void explain_clip(const std::string& path, const std::string& device, int threads, bool json);

} // namespace lanner::tool
