#pragma once
// Data with ground truth, from the command line.

#include <string>

#include <lanner/evaluation.h>

#include "input/files.h"
#include "options/command_line.h"

namespace lanner::tool {

/// As given on the command line.
struct EvalDataOptions {
  std::string data, images;
  std::string image_key = "image/encoded", label_key = "image/class/label"; ///< Features of a tf.Example.
  int ignore = not_given, first_label = not_given;

  static constexpr int not_given = -2;
};
/// `more` ends the help of --data.
void add_eval_data_options(Command& command, EvalDataOptions& options, const std::string& more = {});

/// Opens what --data names: TFRecord files, or what Dataset::open takes. `engine` says how many classes there
/// are. Throws Error.
Dataset open_eval_data(const EvalDataOptions& options, const Engine& engine, const Task& task);
/// Declares the files of a data set.
void declare_data(const Dataset& data, Files& files);

} // namespace lanner::tool
