#include "input/eval_data.h"

#include <filesystem>

#include "check.h"
#include "input/record_pictures.h"
#include "options/limit_option.h"

namespace lanner::tool {
namespace {

Dataset open_records(const EvalDataOptions& options, const std::vector<std::string>& files,
                     std::int64_t classes) {
  check(options.images.empty() && options.ignore == EvalDataOptions::not_given, ErrorCode::invalid_argument,
        "--images and --ignore are not for TFRecord files; leave them out");
  RecordKeys keys{options.image_key, options.label_key, classes, {}};
  if (options.first_label != EvalDataOptions::not_given) keys.first_label = options.first_label;
  return Dataset::of(read_record_pictures(files, keys));
}

} // namespace

void add_eval_data_options(Command& command, EvalDataOptions& options, const std::string& more) {
  command
      .add_option(
          "--data", options.data,
          "Images with ground truth: for classify a folder with a folder for each class, or TFRecord files "
          "of tf.Example (a file, a folder of them, or a pattern in quotes); for boxes COCO's JSON, or "
          "YOLO's folder with images/ and labels/, or its data.yaml; for semantic a folder with images/ and "
          "masks/" +
              more)
      .required();
  command.add_option("--images", options.images, "Folder of the images, where --data does not name it");
  command.add_option("--image-key", options.image_key, "TFRecord: the feature with the encoded image")
      .show_default();
  command.add_option("--label-key", options.label_key, "TFRecord: the feature with the class").show_default();
  command
      .add_option(
          "--first-label", options.first_label,
          "TFRecord: the label of the network's first class (default: 1 where the labels are 1 to the "
          "number of classes, else 0)")
      .range(-1, 65535);
  command
      .add_option("--ignore", options.ignore, "semantic: pixels with this value do not count (default: 255)")
      .range(-1, 65535);
}

Dataset open_eval_data(const EvalDataOptions& options, const Engine& engine, const Task& task) {
  return with_context([] { return "--data"; },
                      [&] {
                        const std::int64_t classes = class_count(engine, task);
                        if (task.kind == TaskKind::classify)
                          if (const auto files = record_files(options.data); !files.empty())
                            return open_records(options, files, classes);
                        check(options.first_label == EvalDataOptions::not_given, ErrorCode::invalid_argument,
                              "--first-label is for TFRecord files, and {} has none; leave it out",
                              options.data);
                        DatasetOptions data;
                        data.images = options.images;
                        if (options.ignore != EvalDataOptions::not_given) data.ignore = options.ignore;
                        data.classes = classes;
                        data.limits = given_limits();
                        return Dataset::open(options.data, task, data);
                      });
}

void declare_data(const Dataset& data, Files& files) {
  for (const std::string& path : data.files()) files.reads("--data", path);
}

} // namespace lanner::tool
