#pragma once
// The report of lanner convert: engines, and what stays native and why, one self-contained HTML page.

#include <string>

#include <lanner/output.h>
#include <lanner/tensorflow.h>

namespace lanner::tool {

/// Writes and commits the page for a model that was converted from the file or folder `source`.
void write_conversion_report(OutputFile& file, const std::string& source, const tf::Model& model);

} // namespace lanner::tool
