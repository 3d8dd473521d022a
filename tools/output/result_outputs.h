#pragma once
// Answers as files in common formats, and crops of boxes as images.

#include <map>
#include <string>
#include <vector>

#include <lanner/image.h>
#include <lanner/result_writer.h>

#include "input/files.h"
#include "options/command_line.h"

namespace lanner::tool {

/// As given on the command line; empty: not requested.
struct ResultOptions {
  std::string csv, coco, yolo, crops;
};
void add_result_options(Command& command, ResultOptions& options);
void declare_results(const ResultOptions& options, Files& files);

/// Throws Error{invalid_argument} for files that cannot hold the results of a second network of this task,
/// and notes which files leave them out.
void check_crop_results(const ResultOptions& options, TaskKind kind);

/// Result files of one run.
class ResultOutputs {
public:
  /// Throws Error{invalid_argument} for results that the task does not have.
  ResultOutputs(const ResultOptions& options, lanner::Task task);

  bool empty() const { return writers_.empty() && crops_.empty(); }
  void write(const ImageSource& picture, const TaskResult& result, const Image& image);
  /// Assigns file names.
  void finish();

private:
  void write_crops(const ImageSource& picture, const TaskResult& result, const Image& image);

  lanner::Task task_;
  std::string crops_;
  std::vector<ResultWriter> writers_;
  std::map<std::string, std::string>
      sources_; ///< Inputs that have crops, by the beginning of the crops' names.
};

} // namespace lanner::tool
