#pragma once
// What a report says of the run itself: when, how, on what.

#include <string>

#include <nlohmann/json.hpp>

#include "report/report.h"

namespace lanner::tool {

/// Name of a file without its folders.
std::string file_name(const std::string& path);
/// Pairs of a name and a text, or of a name and the texts of many inputs.
nlohmann::ordered_json facts_json(const ReportParts& parts);

} // namespace lanner::tool
