#pragma once
// What pages of reports are made of.

#include <cstddef>
#include <string>
#include <vector>

#include <lanner/image.h>

namespace lanner::tool {

/// A picture as a page shows it: a JPEG of 560 pixels a side at most.
std::vector<std::byte> to_jpeg(const Image& image);
/// `data:image/jpeg;base64,...`
std::string data_uri(const std::vector<std::byte>& jpeg);
/// Text between tags and in attributes with double quotes.
std::string html_safe(const std::string& plain);

} // namespace lanner::tool
