#pragma once
// JSON read: the one file of the tool where its library's parser is compiled.

#include <cstddef>
#include <functional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace lanner::tool {

using Json = nlohmann::ordered_json;

/// Throws Json::exception. `look` is called at each name, value and end of an array or object, with the
/// number of those around it.
Json parse_json(std::string_view text, const std::function<void(std::size_t depth)>& look = {});

} // namespace lanner::tool
