#pragma once
// The report of a run: one HTML page that holds everything it shows.

#include <optional>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/engine.h>
#include <lanner/output.h>

#include "commands/engine_summary.h"
#include "commands/runner.h"
#include "commands/second_network.h"
#include "options/engine_options.h"
#include "output/accuracy.h"
#include "report/recorder.h"

namespace lanner::tool {

/// What a report is made of; everything outlives the call.
struct ReportParts {
  const std::string& model;
  const std::vector<RunInput>& inputs;
  const Engine& engine;
  const ModelFacts& facts; ///< The model before it was optimised.
  const PictureInput& picture;
  const std::string& task; ///< What the outputs mean, and how that was found.
  int batch;
  const RunTotals& totals;
  const EngineSummary& summary;
  const Recorder& recorder;
  const std::optional<Accuracy>& accuracy;
  const SecondNetwork* then; ///< Null where there is none.
};

/// Writes and commits the page. Graph pictures take at most ten seconds each.
void write_report(OutputFile& file, const ReportParts& parts, const CancelToken& cancel);

} // namespace lanner::tool
