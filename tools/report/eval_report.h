#pragma once
// The report of lanner eval: one self-contained HTML page.

#include <string>

#include <lanner/evaluation.h>
#include <lanner/output.h>

#include "options/engine_options.h"
#include "options/preprocess_options.h"

namespace lanner::tool {

/// Input of the page; everything outlives the call.
struct EvalReportParts {
  const std::string& model;
  const std::string& data; ///< As named on the command line.
  const Dataset& dataset;
  const Engine& engine;
  const ModelFacts& facts;
  const PictureInput& picture;
  const Task task;
  const Evaluation& evaluation;
};

/// Writes and commits the page. Reads the worst images again.
void write_eval_report(OutputFile& file, const EvalReportParts& parts);

} // namespace lanner::tool
