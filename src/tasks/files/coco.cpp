// Writes COCO's file of images, categories and annotations ("COCO - Common Objects in Context: Data format").

#include <filesystem>
#include <map>

#include <lanner/classes.h>
#include <lanner/output.h>

#include "tasks/files/formats.h"
#include "tasks/files/run_lengths.h"

namespace lanner {
namespace {

constexpr int labelled = 1, visible = 2; ///< Least confidence of a visible key point.

/// COCO counts classes from 1.
std::int64_t category_id(std::int64_t number) {
  return number + 1;
}

/// Writes annotations to the file as they come, and images and categories at the end.
class CocoFile : public ResultFile {
public:
  explicit CocoFile(const std::filesystem::path& path) : file_(path) { file_.write("{\"annotations\": ["); }

  void write(const ImageSource& picture, const TaskResult& result, const Task& task) override {
    const ResultParts parts = parts_of(result);
    const std::string ending =
        picture.still ? std::filesystem::path(picture.source).extension().string() : std::string(".jpg");
    OrderedJson image{{"id", ++image_count_},     {"file_name", picture.stem() + ending},
                      {"width", result.width},    {"height", result.height},
                      {"source", picture.source}, {"frame", picture.frame}};
    if (picture.pts) image["pts"] = *picture.pts;
    images_ += (images_.empty() ? "\n" : ",\n") + json_text(image);
    if (result.kind == TaskKind::pose) points_ = parts.points;
    for (std::int64_t i = 0; i < parts.count; ++i) {
      const std::int64_t number = parts.labels[static_cast<std::size_t>(i)];
      if (!categories_.contains(number)) categories_[number] = class_label(task, number);
      file_.write(annotation_count_ == 0 ? "\n" : ",\n");
      file_.write(json_text(annotation(result, parts, i)));
    }
  }

  void finish(const Task& task) override {
    for (std::size_t i = 0; i < task.labels.size(); ++i)
      categories_[static_cast<std::int64_t>(i)] = task.labels[i];
    file_.write("],\n\"images\": [" + images_ + "],\n\"categories\": [");
    bool first = true;
    for (const auto& [number, name] : categories_) {
      OrderedJson category{{"id", category_id(number)}, {"name", name}};
      if (task.kind == TaskKind::pose) describe_points(category, task);
      file_.write((first ? "\n" : ",\n") + json_text(category));
      first = false;
    }
    file_.write("]}\n");
    file_.commit();
  }

private:
  OrderedJson annotation(const TaskResult& result, const ResultParts& parts, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const std::array<float, 4> box = parts.box(i);
    const float width = box[2] - box[0], height = box[3] - box[1];
    OrderedJson json{
        {"id", ++annotation_count_},
        {"image_id", image_count_},
        {"category_id", category_id(parts.labels[at])},
        {"bbox", {json_number(box[0]), json_number(box[1]), json_number(width), json_number(height)}},
        {"area", json_number(width * height)},
        {"iscrowd", 0},
        {"score", json_number(parts.scores[at])}};
    if (result.kind == TaskKind::segment) {
      json["segmentation"] = json_mask(result.masks[at], result.width, result.height);
      json["area"] = mask_pixels(result.masks[at]);
    }
    if (result.kind == TaskKind::obb) {
      OrderedJson polygon = OrderedJson::array();
      for (const Corner& corner : parts.corners(i))
        for (const float value : corner) polygon.push_back(json_number(value));
      json["segmentation"] = OrderedJson::array({polygon});
      json["area"] = json_number(parts.rotated[at * 5 + 2] * parts.rotated[at * 5 + 3]);
    }
    if (result.kind == TaskKind::pose) {
      json["keypoints"] = OrderedJson::array();
      for (std::int64_t p = 0; p < parts.points; ++p) {
        const auto point = parts.point(i, p);
        json["keypoints"].push_back(json_number(point[0]));
        json["keypoints"].push_back(json_number(point[1]));
        json["keypoints"].push_back(point[2] >= least_confidence ? visible : labelled);
      }
      json["num_keypoints"] = parts.points;
    }
    if (!result.crops.empty()) json["then"] = json_crop_of(result, i);
    return json;
  }

  /// Points have no names, so their numbers are used.
  void describe_points(OrderedJson& category, const Task& task) const {
    category["keypoints"] = OrderedJson::array();
    for (std::int64_t p = 0; p < points_; ++p) category["keypoints"].push_back(std::to_string(p));
    category["skeleton"] = OrderedJson::array();
    for (const std::array<int, 2>& line : task.skeleton)
      category["skeleton"].push_back(OrderedJson::array({line[0] + 1, line[1] + 1}));
  }

  OutputFile file_;
  std::string images_;
  std::map<std::int64_t, std::string> categories_; ///< By number: those with answers or with names.
  std::int64_t image_count_ = 0, annotation_count_ = 0, points_ = 0;
};

} // namespace

std::unique_ptr<ResultFile> open_coco_file(const std::filesystem::path& path) {
  return std::make_unique<CocoFile>(path);
}

} // namespace lanner
