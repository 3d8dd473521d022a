// COCO's annotations ("COCO - Common Objects in Context: Data format"), without panoptic ones.

#include <algorithm>
#include <cmath>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include <lanner/source.h>

#include "base/check.h"
#include "base/file/regular_file.h"
#include "base/limits/limit_error.h"
#include "base/limits/paced_deadline.h"
#include "base/text/json.h"
#include "tasks/evaluation/dataset.h"
#include "tasks/evaluation/rotated_box.h"
#include "tasks/evaluation/runs.h"

namespace lanner::tasks {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double most_coordinate = 1e7;

const Json& field(const Json& object, const char* name, const std::string& what) {
  check(object.is_object(), ErrorCode::bad_data, "{}: expected an object, got {}", what, object.type_name());
  const auto found = object.find(name);
  check(found != object.end(), ErrorCode::bad_data, "{}: '{}' is missing", what, name);
  return *found;
}

const Json& list(const Json& object, const char* name, const std::string& what) {
  const Json& value = field(object, name, what);
  check(value.is_array(), ErrorCode::bad_data, "{}: '{}' is {}, expected a list", what, name,
        value.type_name());
  return value;
}

std::int64_t whole(const Json& object, const char* name, const std::string& what) {
  const Json& value = field(object, name, what);
  check(value.is_number_integer(), ErrorCode::bad_data, "{}: '{}' is {}, expected a whole number", what, name,
        value.type_name());
  return value.get<std::int64_t>();
}

std::string text(const Json& object, const char* name, const std::string& what) {
  const Json& value = field(object, name, what);
  check(value.is_string(), ErrorCode::bad_data, "{}: '{}' is {}, expected a text", what, name,
        value.type_name());
  return value.get<std::string>();
}

double number(const Json& value, const std::string& what) {
  check(value.is_number(), ErrorCode::bad_data, "{}: expected a number, got {}", what, value.type_name());
  const auto found = value.get<double>();
  check(std::abs(found) <= most_coordinate, ErrorCode::bad_data, "{}: is {}, expected at most {:g}", what,
        found, most_coordinate);
  return found;
}

std::vector<double> numbers(const Json& values, const std::string& what) {
  check(values.is_array(), ErrorCode::bad_data, "{}: expected a list of numbers, got {}", what,
        values.type_name());
  std::vector<double> found;
  for (const Json& value : values) found.push_back(number(value, what));
  return found;
}

/// An annotation, as far as it can be read before its picture's size is known.
struct Annotation {
  std::int64_t id = 0;
  GroundTruthObject object;
  Json segmentation;  ///< Polygons or run lengths; for segment and obb.
  bool sized = false; ///< Whether the file states its area.
};

struct Picture {
  std::int64_t id = 0;
  std::int32_t width = 0, height = 0; ///< 0: not stated.
  std::vector<Annotation> annotations;
};

struct CocoForm : Dataset::Form {
  GroundTruth truth(std::size_t i, std::int32_t width, std::int32_t height) const override {
    const Picture& picture = all[i];
    check(picture.width == 0 || (picture.width == width && picture.height == height), ErrorCode::bad_data,
          "{}: the image has {}x{} pixels, its annotations are for {}x{}", pictures[i], width, height,
          picture.width, picture.height);
    GroundTruth truth;
    for (const Annotation& annotation : picture.annotations)
      truth.objects.push_back(
          with_context([&] { return fmt::format("{}: annotation {}", path, annotation.id); },
                       [&] { return object_of(annotation, width, height); }));
    return truth;
  }

  GroundTruthObject object_of(const Annotation& annotation, std::int32_t width, std::int32_t height) const;
  Runs mask_of(const Json& segmentation, std::int32_t width, std::int32_t height) const;

  std::string path;
  TaskKind kind = TaskKind::detect;
  Limits limits;
  std::vector<Picture> all; ///< In the order of `pictures`.
};

Runs CocoForm::mask_of(const Json& segmentation, std::int32_t width, std::int32_t height) const {
  if (segmentation.is_object()) {
    const std::vector<double> size =
        numbers(list(segmentation, "size", "segmentation"), "segmentation's size");
    check(size.size() == 2 && size[0] == height && size[1] == width, ErrorCode::bad_data,
          "segmentation has another size than the image of {}x{}", width, height);
    const Json& counts = field(segmentation, "counts", "segmentation");
    if (counts.is_string()) return unpacked_runs(counts.get_ref<const std::string&>(), width, height);
    check(counts.is_array(), ErrorCode::bad_data, "segmentation's counts are {}, expected a list or a text",
          counts.type_name());
    Runs runs;
    const std::int64_t pixels = std::int64_t{width} * height;
    for (const Json& count : counts) {
      check(count.is_number_integer() && count.get<std::int64_t>() >= 0 &&
                count.get<std::int64_t>() <= pixels,
            ErrorCode::bad_data, "segmentation's counts: expected whole numbers up to {}", pixels);
      runs.push_back(count.get<std::uint32_t>());
    }
    check_runs(runs, width, height);
    return runs;
  }
  check(segmentation.is_array() && !segmentation.empty(), ErrorCode::bad_data,
        "segmentation is {}, expected polygons or run lengths",
        segmentation.empty() ? "empty" : segmentation.type_name());
  std::optional<Runs> all_parts;
  PacedDeadline look;
  for (const Json& polygon : segmentation) {
    const std::vector<double> corners = numbers(polygon, "a polygon of segmentation");
    check(corners.size() >= 6 && corners.size() % 2 == 0, ErrorCode::bad_data,
          "a polygon of segmentation has {} numbers, expected 6 or more in pairs", corners.size());
    Runs runs = runs_of_polygon(corners, width, height, limits);
    if (all_parts) look(all_parts->size());
    all_parts = all_parts ? joined(*all_parts, runs) : std::move(runs);
  }
  return *all_parts;
}

GroundTruthObject CocoForm::object_of(const Annotation& annotation, std::int32_t width,
                                      std::int32_t height) const {
  GroundTruthObject object = annotation.object;
  if (kind == TaskKind::obb) {
    check(annotation.segmentation.is_array() && annotation.segmentation.size() == 1, ErrorCode::bad_data,
          "segmentation: expected one polygon of four corners, for a rotated box");
    const std::vector<double> corners = numbers(annotation.segmentation[0], "segmentation");
    check(corners.size() == 8, ErrorCode::bad_data,
          "segmentation has {} numbers, expected the 8 of four corners", corners.size());
    object.rotated = rotated_box(corners);
    if (!annotation.sized) object.area = static_cast<double>((*object.rotated)[2]) * (*object.rotated)[3];
  }
  if (kind != TaskKind::segment) return object;
  object.mask = mask_of(annotation.segmentation, width, height);
  if (!annotation.sized) object.area = static_cast<double>(area_of(object.mask));
  if (object.box[2] <= 0 || object.box[3] <= 0) object.box = bounds_of(object.mask, height);
  return object;
}

/// A name that stays within its folder.
void check_name(const std::string& name, const std::string& what) {
  const fs::path path(name);
  check(!name.empty() && !path.is_absolute() && std::ranges::find(path, fs::path("..")) == path.end() &&
            name.find('\0') == std::string::npos,
        ErrorCode::bad_data, "{}: file_name '{}' leaves the folder of the images", what, name);
}

/// The folder of the first picture.
fs::path folder_of(const fs::path& file, const std::string& first, const DatasetOptions& options) {
  if (!options.images.empty()) return options.images;
  const fs::path beside = file.parent_path();
  const std::string stem = file.stem().string();
  const std::string part = stem.substr(stem.rfind('_') + 1); // instances_val2017: val2017.
  const fs::path candidates[] = {beside,
                                 beside / "images",
                                 beside / part,
                                 beside / ".." / "images",
                                 beside / ".." / part,
                                 beside / ".." / "images" / part};
  std::error_code ignored;
  for (const fs::path& candidate : candidates)
    if (fs::exists(candidate / first, ignored))
      return candidate.empty() ? fs::path(".") : candidate.lexically_normal();
  fail(ErrorCode::not_found,
       "{}: its first image, {}, is not in the file's folder nor in images/, ../images/ or ../{}/; give "
       "the folder of the images",
       file.string(), first, part);
}

/// Parses the file.
class Reader {
public:
  Reader(const fs::path& file, const Task& task, const DatasetOptions& options)
      : file_(file), task_(task), options_(options), form_(std::make_shared<CocoForm>()) {
    form_->path = file.string();
    form_->others.push_back(form_->path);
    form_->kind = *task.kind;
    form_->limits = options.limits;
  }

  FormPtr read(std::string_view text) {
    with_context([&] { return file_.string(); },
                 [&] {
                   Json json = parse_json(text, options_.limits);
                   check(json.is_object() && json.contains("images") && json.contains("annotations"),
                         ErrorCode::bad_data, "expected COCO's JSON with images, annotations and categories");
                   read_categories(list(json, "categories", "the file"));
                   read_images(list(json, "images", "the file"));
                   read_annotations(json["annotations"]);
                 });
    finish();
    return form_;
  }

private:
  void read_categories(const Json& categories) {
    std::map<std::int64_t, std::string> names;
    for (const Json& category : categories) {
      const std::int64_t id = whole(category, "id", "a category");
      check(names.emplace(id, text(category, "name", fmt::format("category {}", id))).second,
            ErrorCode::bad_data, "category {} comes twice", id);
    }
    check(!names.empty(), ErrorCode::bad_data, "there are no categories");
    std::vector<std::string> ordered;
    for (const auto& [id, name] : names) ordered.push_back(name);
    const ClassNumbers found = match_names(ordered, task_.labels);
    const bool by_name = found.matched > 0;
    check(by_name || task_.labels.empty() || task_.labels.size() == names.size(), ErrorCode::bad_data,
          "none of {} is a label of the network, which has {}; give its classes the file's names, or the "
          "file's as "
          "the network",
          counted(names.size(), "category", "categories"), task_.labels.size());
    const bool by_id = task_.labels.empty() && task_.first_class.value_or(0) > 0;
    std::int64_t place = 0;
    for (const auto& [id, name] : names) {
      const std::int64_t at = place++;
      const std::int64_t class_number = by_name ? found.numbers[static_cast<std::size_t>(at)]
                                        : by_id ? id - *task_.first_class
                                                : at;
      classes_[id] = {class_number, name};
      if (task_.labels.empty() && !by_id) form_->labels.push_back(name);
    }
    how_ = by_name ? "by name"
           : by_id ? fmt::format("by number, id less {}, as no name is a label", *task_.first_class)
                   : "in the order of their ids, as no name is a label";
  }

  void read_images(const Json& images) {
    std::map<std::int64_t, std::pair<std::string, Picture>> found;
    for (const Json& image : images) {
      Picture picture;
      picture.id = whole(image, "id", "an image");
      const std::string what = fmt::format("image {}", picture.id);
      std::string name = text(image, "file_name", what);
      check_name(name, what);
      for (const auto& [key, size] :
           {std::pair("width", &picture.width), std::pair("height", &picture.height)})
        if (image.contains(key)) {
          const std::int64_t value = whole(image, key, what);
          check(value > 0 && value <= 1 << 20, ErrorCode::bad_data, "{}: {} is {}", what, key, value);
          *size = static_cast<std::int32_t>(value);
        }
      if (picture.width == 0 || picture.height == 0) picture.width = picture.height = 0;
      check(found.emplace(picture.id, std::pair(std::move(name), std::move(picture))).second,
            ErrorCode::bad_data, "{} comes twice", what);
    }
    check(!found.empty(), ErrorCode::bad_data, "there are no images");
    const fs::path folder = folder_of(file_, found.begin()->second.first, options_);
    for (auto& [id, entry] : found) { // By id, as COCO counts equal scores in the order of ids.
      places_[id] = form_->all.size();
      form_->pictures.push_back((folder / entry.first).string());
      form_->all.push_back(std::move(entry.second));
    }
  }

  void read_annotations(Json& annotations) {
    check(annotations.is_array(), ErrorCode::bad_data, "'annotations' is {}, expected a list",
          annotations.type_name());
    for (Json& json : annotations) {
      Annotation annotation;
      annotation.id = json.is_object() && json.contains("id") && json["id"].is_number_integer()
                          ? json["id"].get<std::int64_t>()
                          : static_cast<std::int64_t>(&json - annotations.get_ptr<Json::array_t*>()->data());
      with_context([&] { return fmt::format("annotation {}", annotation.id); },
                   [&] { add(annotation, json); });
    }
  }

  void add(Annotation& annotation, Json& json) {
    const std::int64_t image = whole(json, "image_id", "it"), category = whole(json, "category_id", "it");
    const auto place = places_.find(image);
    check(place != places_.end(), ErrorCode::bad_data, "image_id {} is not among the images", image);
    const auto known = classes_.find(category);
    check(known != classes_.end(), ErrorCode::bad_data, "category_id {} is not among the categories",
          category);
    if (known->second.first < 0) fail_unmatched("category", "the name", known->second.second, task_.labels);
    GroundTruthObject& object = annotation.object;
    object.label = known->second.first;
    if (json.contains("iscrowd")) {
      const Json& crowd = json["iscrowd"];
      check(crowd.is_number_integer() || crowd.is_boolean(), ErrorCode::bad_data,
            "iscrowd is {}, expected 0 or 1", crowd.type_name());
      object.crowd = crowd.is_boolean() ? crowd.get<bool>() : crowd.get<std::int64_t>() != 0;
    }
    const bool masked = form_->kind == TaskKind::segment;
    if (json.contains("bbox") || !masked) {
      const std::vector<double> box = numbers(list(json, "bbox", "it"), "bbox");
      check(box.size() == 4 && box[2] >= 0 && box[3] >= 0, ErrorCode::bad_data,
            "bbox: expected left, top, width and height, got {} numbers{}", box.size(),
            box.size() == 4 ? " with a size below 0" : "");
      std::ranges::copy(box, object.box.begin());
    }
    object.area = object.box[2] * object.box[3];
    if (json.contains("area")) {
      check(json["area"].is_number() && json["area"].get<double>() >= 0, ErrorCode::bad_data,
            "area: expected a number of 0 or more");
      object.area = json["area"].get<double>();
      annotation.sized = true;
    }
    if (form_->kind == TaskKind::pose && json.contains("keypoints")) add_points(object, json["keypoints"]);
    if (masked || form_->kind == TaskKind::obb)
      annotation.segmentation = std::move(const_cast<Json&>(field(json, "segmentation", "it")));
    form_->all[place->second].annotations.push_back(std::move(annotation));
    ++objects_;
  }

  static void add_points(GroundTruthObject& object, const Json& json) {
    const std::vector<double> values = numbers(json, "keypoints");
    check(values.size() % 3 == 0, ErrorCode::bad_data,
          "keypoints: expected x, y and visibility of each, got {} numbers", values.size());
    for (std::size_t i = 0; i < values.size(); i += 3)
      object.keypoints.push_back({values[i], values[i + 1], values[i + 2]});
  }

  void finish() {
    form_->notes.push_back(
        fmt::format("{}: {}, {}, {} matched {}", file_.string(), counted(form_->pictures.size(), "picture"),
                    counted(objects_, "object"), counted(classes_.size(), "category", "categories"), how_));
  }

  const fs::path file_;
  const Task& task_;
  const DatasetOptions& options_;
  std::shared_ptr<CocoForm> form_;
  std::map<std::int64_t, std::pair<std::int64_t, std::string>> classes_; ///< Number and name, by category id.
  std::map<std::int64_t, std::size_t> places_;                           ///< Indices of pictures, by id.
  std::size_t objects_ = 0;
  std::string how_;
};

} // namespace

FormPtr open_coco(const fs::path& file, const Task& task, const DatasetOptions& options) {
  const Content content = read_regular_file(file, options.limits);
  return read_coco({reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()}, file, task,
                   options);
}

FormPtr read_coco(std::string_view json, const fs::path& file, const Task& task,
                  const DatasetOptions& options) {
  return Reader(file, task, options).read(json);
}

} // namespace lanner::tasks
