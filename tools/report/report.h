#pragma once
// The report of a run: one self-contained HTML page.

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

/// Input of a report; everything outlives the call.
struct ReportParts {
  const std::string& model;
  const std::vector<RunInput>& inputs;
  const Engine& engine;
  const ModelFacts& facts; ///< The model before optimisation.
  const PictureInput& picture;
  const std::string& task; ///< What the outputs mean, and how that was found.
  int batch;
  const RunTotals& totals;
  const EngineSummary& summary;
  const Recorder& recorder;
  const std::optional<Accuracy>& accuracy;
  const SecondNetwork* then; ///< Null where there is no second network.
};

/// Writes and commits the page. Drawing graphs takes at most ten seconds each.
void write_report(OutputFile& file, const ReportParts& parts, const CancelToken& cancel);

} // namespace lanner::tool
