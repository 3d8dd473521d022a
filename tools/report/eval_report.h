#pragma once
// The report of lanner eval: one HTML page that holds everything it shows.

#include <string>

#include <lanner/evaluation.h>
#include <lanner/output.h>

#include "options/engine_options.h"
#include "options/preprocess_options.h"

namespace lanner::tool {

/// What the page is made of; everything outlives the call.
struct EvalReportParts {
  const std::string& model;
  const std::string& data;
  const Engine& engine;
  const ModelFacts& facts;
  const PictureInput& picture;
  const Task task;
  const Evaluation& evaluation;
};

/// Writes and commits the page. The worst pictures are read once more.
void write_eval_report(OutputFile& file, const EvalReportParts& parts);

} // namespace lanner::tool
