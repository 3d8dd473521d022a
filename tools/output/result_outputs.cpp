#include "output/result_outputs.h"

#include <cctype>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include <lanner/classes.h>
#include <lanner/draw.h>

#include "check.h"
#include "output/console.h"
#include "output/outputs.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_name_bytes = 60;

/// A label as part of a file name.
std::string name_part(const std::string& label) {
  std::string name;
  for (const char c : label) {
    const auto byte = static_cast<unsigned char>(c);
    const bool first_of_character = (byte & 0xc0) != 0x80;
    if (name.size() >= most_name_bytes && first_of_character) break;
    const bool plain = std::isalnum(byte) != 0 || c == '-' || c == '.' || byte >= 0x80;
    name += plain ? c : '_';
  }
  return name;
}

/// Label of box `i`, with the second network's class: `car_red`.
std::string name_of(const TaskResult& result, std::int64_t i, const lanner::Task& task) {
  const auto at = static_cast<std::size_t>(i);
  std::string name = name_part(class_label(task, result.labels.as<std::int64_t>()[at]));
  if (result.crops.empty()) return name;
  const TaskResult& crop = result.crops[at];
  if (crop.kind == TaskKind::classify && crop.count() > 0)
    name += "_" + name_part(class_label(*result.crop_task, crop.labels.as<std::int64_t>()[0]));
  return name;
}

/// A box at the image's edge may be cut to nothing and has no crop.
bool has_pixels(const TaskResult& result, std::int64_t i) {
  if (!result.boxes.defined()) return true;
  const float* box = result.boxes.as<float>().data() + 4 * i;
  return box[2] > box[0] && box[3] > box[1] && box[2] > 0 && box[3] > 0 &&
         box[0] < static_cast<float>(result.width) && box[1] < static_cast<float>(result.height);
}

void check_file(const char* option, const std::string& path) {
  check(path != "-", ErrorCode::invalid_argument,
        "{} -: expected a file; only --json can write to standard output", option);
}

} // namespace

void add_result_options(Command& command, ResultOptions& options) {
  command.add_option("--csv", options.csv, "Answers as a CSV table, a row for each class or box");
  command.add_option("--coco", options.coco, "Boxes, masks and key points as JSON in COCO's format");
  command.add_option("--yolo", options.yolo, "Folder for a text file in YOLO's format for each image");
  command.add_option("--crops", options.crops, "Folder for an image of each box");
}

void declare_results(const ResultOptions& options, Files& files) {
  check_file("--csv", options.csv);
  check_file("--coco", options.coco);
  files.writes("--csv", options.csv);
  files.writes("--coco", options.coco);
  files.writes_into("--yolo", options.yolo, ".txt");
  files.writes_into("--crops", options.crops, ".jpg");
}

void check_crop_results(const ResultOptions& options, TaskKind kind) {
  check(options.csv.empty() || can_write_crops(ResultFormat::csv, kind), ErrorCode::invalid_argument,
        "--csv {}: cannot hold results of a second network of the task {}; --json can", options.csv,
        lanner::to_string(kind));
  if (!options.yolo.empty())
    print_note(fmt::format("note: --yolo {}: has only the boxes of the first network", options.yolo));
}

ResultOutputs::ResultOutputs(const ResultOptions& options, lanner::Task task)
    : task_(std::move(task)), crops_(options.crops) {
  const auto open = [&](const char* option, const std::string& path, ResultFormat format) {
    if (path.empty()) return;
    with_context([&] { return std::string(option); }, [&] { writers_.emplace_back(path, format, task_); });
  };
  open("--csv", options.csv, ResultFormat::csv);
  open("--coco", options.coco, ResultFormat::coco);
  open("--yolo", options.yolo, ResultFormat::yolo);
  if (crops_.empty()) return;
  check(can_write(ResultFormat::yolo, *task_.kind), ErrorCode::invalid_argument,
        "--crops {}: the task {} finds no boxes", crops_, lanner::to_string(*task_.kind));
  std::error_code error;
  fs::create_directories(crops_, error);
  check(!error, ErrorCode::io, "--crops {}: {}", crops_, error.message());
}

void ResultOutputs::write(const ImageSource& picture, const TaskResult& result, const Image& image) {
  for (ResultWriter& writer : writers_) writer.write(picture, result);
  if (!crops_.empty()) write_crops(picture, result, image);
}

void ResultOutputs::write_crops(const ImageSource& picture, const TaskResult& result, const Image& image) {
  const std::string stem = picture.stem();
  const auto [other, fresh] = sources_.emplace(stem, picture.source);
  check(fresh, ErrorCode::invalid_argument,
        "--crops {}: the crops of {} and {} would have the same names; give each a folder of its own", crops_,
        other->second, picture.source);
  for (std::int64_t i = 0; i < result.labels.elements(); ++i) {
    if (!has_pixels(result, i)) continue;
    save_picture(
        (fs::path(crops_) / fmt::format("{}_{}_{}.jpg", stem, i, name_of(result, i, task_))).string(),
        crop_box(image, result, i));
  }
}

void ResultOutputs::finish() {
  for (ResultWriter& writer : writers_) writer.finish();
}

} // namespace lanner::tool
