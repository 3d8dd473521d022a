#pragma once
// Answers as files of the field's formats, and what boxes cover as pictures.

#include <map>
#include <string>
#include <vector>

#include <lanner/image.h>
#include <lanner/result_writer.h>

#include "input/files.h"
#include "options/command_line.h"

namespace lanner::tool {

/// As given on the command line; empty: not wanted.
struct ResultOptions {
  std::string csv, coco, yolo, crops;
};
void add_result_options(Command& command, ResultOptions& options);
void declare_results(const ResultOptions& options, Files& files);

/// Throws Error{invalid_argument} where files cannot hold what a second network of this task finds, and tells
/// which leave it out.
void check_crop_results(const ResultOptions& options, TaskKind kind);

/// Where the results of one run go.
class ResultOutputs {
public:
  /// Throws Error{invalid_argument} for what the task does not have.
  ResultOutputs(const ResultOptions& options, lanner::Task task);

  bool empty() const { return writers_.empty() && crops_.empty(); }
  void write(const ImageSource& picture, const TaskResult& result, const Image& image);
  /// Gives the files their names.
  void finish();

private:
  void write_crops(const ImageSource& picture, const TaskResult& result, const Image& image);

  lanner::Task task_;
  std::string crops_;
  std::vector<ResultWriter> writers_;
  std::map<std::string, std::string>
      sources_; ///< Of the pictures that have crops, by the beginning of names.
};

} // namespace lanner::tool
