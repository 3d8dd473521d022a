#pragma once
// The report of lanner transcode: PSNR and SSIM by frame, one self-contained HTML page.

#include <string>

#include <lanner/output.h>
#include <lanner/transcode.h>

namespace lanner::tool {

/// Input of the page; everything outlives the call.
struct QualityReportParts {
  const std::string& input;
  const std::string& output;
  const TranscodeResult& result; ///< With its quality.
};

/// Writes and commits the page.
void write_quality_report(OutputFile& file, const QualityReportParts& parts);

} // namespace lanner::tool
