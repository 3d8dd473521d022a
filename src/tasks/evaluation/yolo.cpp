// YOLO's folders: a text file for each image, a line for each object, in coordinates relative to the image.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "tasks/evaluation/dataset.h"
#include "tasks/evaluation/rotated_box.h"
#include "tasks/evaluation/runs.h"
#include "tasks/evaluation/yolo_names.h"

namespace lanner::tasks {
namespace {

namespace fs = std::filesystem;

/// Share of a person's box that the person covers, from which the area of objects with key points is
/// estimated where only boxes are known; ultralytics' value.
constexpr double filled_part = 0.53;
constexpr double least_share = -1, most_share = 2; ///< Points may be outside; pixels would be far outside.

struct Line {
  std::int64_t number = 0;
  std::vector<double> values; ///< Relative to the image.
};

Line parse_line(std::string_view text) {
  std::vector<double> values;
  while (true) {
    const std::size_t start = text.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    check(error == std::errc() && std::isfinite(value), ErrorCode::bad_data, "expected numbers");
    check(values.empty() || (value >= least_share && value <= most_share), ErrorCode::bad_data,
          "{}: expected a coordinate relative to the image, 0 to 1", value);
    values.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  check(values.size() >= 5, ErrorCode::bad_data, "expected a class and at least four numbers, got {}",
        values.size());
  check(values[0] >= 0 && values[0] < 1e6 && values[0] == std::floor(values[0]), ErrorCode::bad_data,
        "class {}: expected a whole number of 0 or more", values[0]);
  return {static_cast<std::int64_t>(values[0]), {values.begin() + 1, values.end()}};
}

/// Left, top, width, height of the points' bounding box.
std::array<double, 4> around(std::span<const double> points) {
  double left = points[0], right = left, top = points[1], bottom = top;
  for (std::size_t i = 2; i + 1 < points.size(); i += 2) {
    left = std::min(left, points[i]), right = std::max(right, points[i]);
    top = std::min(top, points[i + 1]), bottom = std::max(bottom, points[i + 1]);
  }
  return {left, top, right - left, bottom - top};
}

struct YoloForm : Dataset::Form {
  GroundTruth truth(std::size_t i, std::int32_t width, std::int32_t height) const override {
    if (files[i].empty()) return {};
    return truth_of(read_small_text(files[i], limits), files[i], width, height);
  }

  GroundTruth truth_of(std::string_view rest, const std::string& name, std::int32_t width,
                       std::int32_t height) const {
    GroundTruth truth;
    for (std::size_t line = 1; !rest.empty(); ++line) {
      const std::size_t end = rest.find('\n');
      const std::string_view text = rest.substr(0, end);
      if (text.find_first_not_of(" \t\r") != std::string_view::npos)
        truth.objects.push_back(with_context([&] { return fmt::format("{}:{}", name, line); },
                                             [&] { return object_of(parse_line(text), width, height); }));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return truth;
  }

  std::int64_t class_of(std::int64_t number) const {
    if (classes.empty()) {
      check(known == 0 || number < known, ErrorCode::bad_data, "class {}: the network has {}", number, known);
      return number;
    }
    check(number < static_cast<std::int64_t>(classes.size()), ErrorCode::bad_data,
          "class {}: there are {} names", number, classes.size());
    const std::int64_t found = classes[static_cast<std::size_t>(number)];
    if (found < 0) fail_unmatched("class", "the name", names[static_cast<std::size_t>(number)], network);
    return found;
  }

  GroundTruthObject object_of(const Line& line, std::int32_t width, std::int32_t height) const {
    GroundTruthObject object;
    object.label = class_of(line.number);
    std::vector<double> values = line.values;
    if (kind == TaskKind::pose) return with_points(object, values, width, height);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= i % 2 == 0 ? width : height;
    if (kind == TaskKind::obb) {
      check(values.size() == 8, ErrorCode::bad_data,
            "expected a class and four corners, got {} numbers after the class", values.size());
      object.rotated = rotated_box(values);
      object.box = around(values);
      object.area = static_cast<double>((*object.rotated)[2]) * (*object.rotated)[3];
      return object;
    }
    const bool polygon = values.size() > 4;
    check(!polygon || (values.size() >= 6 && values.size() % 2 == 0), ErrorCode::bad_data,
          "expected a class and centre, width and height, or a class and the corners of a polygon, got {} "
          "numbers "
          "after the class",
          values.size());
    check(polygon || kind != TaskKind::segment, ErrorCode::bad_data,
          "is a box; task segment is measured on polygons");
    object.box = polygon
                     ? around(values)
                     : std::array{values[0] - values[2] / 2, values[1] - values[3] / 2, values[2], values[3]};
    check(object.box[2] >= 0 && object.box[3] >= 0, ErrorCode::bad_data, "the box has a size below 0");
    object.area = object.box[2] * object.box[3];
    if (kind != TaskKind::segment) return object;
    object.mask = runs_of_polygon(values, width, height, limits);
    object.area = static_cast<double>(area_of(object.mask));
    return object;
  }

  GroundTruthObject with_points(GroundTruthObject object, const std::vector<double>& values,
                                std::int32_t width, std::int32_t height) const {
    const std::size_t each = values.size() > 4 && points > 0 ? (values.size() - 4) / points : 0;
    check(points > 0 && values.size() == 4 + points * each && (each == 2 || each == 3), ErrorCode::bad_data,
          "expected a class, a box and {} key points of 2 or 3 numbers, got {} numbers after the class",
          points, values.size());
    object.box = {(values[0] - values[2] / 2) * width, (values[1] - values[3] / 2) * height,
                  values[2] * width, values[3] * height};
    object.area = object.box[2] * object.box[3] * filled_part;
    for (std::size_t i = 4; i < values.size(); i += each) {
      const bool somewhere = values[i] != 0 || values[i + 1] != 0;
      object.keypoints.push_back({values[i] * width, values[i + 1] * height,
                                  each == 3   ? values[i + 2]
                                  : somewhere ? 1.
                                              : 0.});
    }
    return object;
  }

  TaskKind kind = TaskKind::detect;
  std::size_t points = 0;
  Limits limits;
  std::vector<std::string> files;    ///< In the order of `pictures`; empty: no label file, so no objects.
  std::vector<std::int64_t> classes; ///< By their number in the files; empty: those of the network.
  std::vector<std::string> names, network;
  std::int64_t known = 0; ///< Number of the network's classes, 0 where not known.
};

std::shared_ptr<YoloForm> form_of(const Task& task, const Limits& limits) {
  auto form = std::make_shared<YoloForm>();
  form->kind = *task.kind;
  form->points = static_cast<std::size_t>(task.keypoints.value_or(0));
  form->limits = limits;
  return form;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}
bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// The folder that the file names as `val`, relative to its `path` or to the file.
fs::path val_folder(const fs::path& yaml, const YoloFacts& facts) {
  const fs::path beside = yaml.parent_path();
  for (const fs::path& folder :
       {beside / facts.path / facts.val, beside / facts.val, fs::path(facts.path) / facts.val})
    if (is_folder(folder)) return folder.lexically_normal();
  fail(ErrorCode::not_found, "{}: val is '{}': no such folder in the file's folder or in its path '{}'",
       yaml.string(), facts.val, facts.path);
}

/// Replaces the last `images` of a path by `labels`.
fs::path labels_folder(const fs::path& images) {
  std::vector<fs::path> parts(images.begin(), images.end());
  const auto found = std::ranges::find(parts.rbegin(), parts.rend(), fs::path("images"));
  check(found != parts.rend(), ErrorCode::bad_data,
        "{}: no part of its path is called images, so the labels' folder is not known", images.string());
  *found = "labels";
  fs::path result;
  for (const fs::path& part : parts) result /= part;
  return result;
}

/// The images' folder of a folder with images and labels.
fs::path images_folder(const fs::path& data, std::vector<std::string>& notes) {
  const fs::path images = data / "images";
  check(is_folder(images), ErrorCode::not_found, "{}: has labels, but no folder images", data.string());
  if (!pictures_in(images, false).empty() || !is_folder(images / "val")) return images;
  notes.push_back(fmt::format("{}: its part val is used", images.string()));
  return images / "val";
}

void match_classes(YoloForm& form, const Task& task, const DatasetOptions& options, std::string& how) {
  form.network = task.labels;
  form.known = task.labels.empty() ? options.classes : static_cast<std::int64_t>(task.labels.size());
  how = "by number";
  if (task.labels.empty()) form.labels = std::exchange(form.names, {});
  if (form.names.empty()) return;
  const ClassNumbers found = match_names(form.names, task.labels);
  check(found.matched > 0, ErrorCode::bad_data,
        "none of the {} class names is a label of the network, which has {}", form.names.size(),
        task.labels.size());
  form.classes = found.numbers;
  how = "by name";
}

} // namespace

GroundTruth read_yolo_truth(std::string_view text, const std::string& name, const Task& task,
                            const Limits& limits, std::int32_t width, std::int32_t height) {
  return form_of(task, limits)->truth_of(text, name, width, height);
}

FormPtr open_yolo(const fs::path& data, const Task& task, const DatasetOptions& options) {
  const std::shared_ptr<YoloForm> form = form_of(task, options.limits);
  const fs::path yaml = is_folder(data) ? data / "data.yaml" : data;
  YoloFacts facts;
  if (is_file(yaml))
    facts = with_context([&] { return yaml.string(); },
                         [&] { return read_yolo_facts(read_small_text(yaml, options.limits)); });
  if (is_file(yaml)) form->others.push_back(yaml.string());
  form->names = std::move(facts.names);
  const fs::path images = !options.images.empty() ? options.images
                          : !facts.val.empty()    ? val_folder(yaml, facts)
                                                  : images_folder(yaml.parent_path(), form->notes);
  const fs::path labels = labels_folder(images);
  check(is_folder(labels), ErrorCode::not_found, "{}: no such folder of labels", labels.string());
  std::string how;
  with_context([&] { return yaml.string(); }, [&] { match_classes(*form, task, options, how); });
  std::size_t unlabelled = 0;
  for (const fs::path& picture : pictures_in(images, true)) {
    const fs::path file = (labels / picture.lexically_relative(images)).replace_extension(".txt");
    const bool there = is_file(file);
    unlabelled += !there;
    form->pictures.push_back(picture.string());
    if (there) form->others.push_back(file.string());
    form->files.push_back(there ? file.string() : std::string());
  }
  check(unlabelled < form->pictures.size() || form->pictures.empty(), ErrorCode::bad_data,
        "{}: none of {} has a label file in {}", images.string(), counted(form->pictures.size(), "picture"),
        labels.string());
  form->notes.push_back(fmt::format("{}: {} with labels of {}, classes matched {}", images.string(),
                                    counted(form->pictures.size(), "picture"), labels.string(), how));
  if (unlabelled > 0)
    form->notes.push_back(fmt::format("{}: {} without a label file: counted as empty", images.string(),
                                      counted(unlabelled, "picture")));
  return form;
}

} // namespace lanner::tasks
