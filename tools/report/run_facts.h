#pragma once
// Facts about the run itself in a report: when, how, on what.

#include <string>

#include "output/json_text.h"
#include "report/report.h"

namespace lanner::tool {

/// Name of a file without its folders.
std::string file_name(const std::string& path);
/// The same with the file's size.
std::string named_size(const std::string& path);
std::string date(); ///< Now, with the time zone.
/// The command line of this process; empty where the system does not provide it.
std::string command_line();
/// Pairs of a name and a text, or of a name and the texts of several inputs.
Json facts_json(const ReportParts& parts);

} // namespace lanner::tool
