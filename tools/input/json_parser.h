#pragma once
// Reads JSON: the only file of the tool that compiles the JSON library's parser.

#include <cstddef>
#include <functional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace lanner::tool {

using Json = nlohmann::ordered_json;

/// Throws Json::exception. `look` is called at each name, value and end of an array or object, with its
/// depth.
Json parse_json(std::string_view text, const std::function<void(std::size_t depth)>& look = {});

} // namespace lanner::tool
