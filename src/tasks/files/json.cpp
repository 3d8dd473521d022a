// Writes one JSON object for each picture.

#include <lanner/classes.h>
#include <lanner/output.h>
#include <lanner/result_writer.h>

#include "base/check.h"
#include "tasks/files/formats.h"

namespace lanner {
namespace {

void add_findings(OrderedJson& json, const TaskResult& result, const Task& task);

OrderedJson json_numbers(std::span<const float> values) {
  OrderedJson list = OrderedJson::array();
  for (const float value : values) list.push_back(json_number(value));
  return list;
}

OrderedJson json_classes(const TaskResult& result, const Task& task) {
  const ResultParts parts = parts_of(result);
  OrderedJson list = OrderedJson::array();
  for (std::size_t i = 0; i < parts.labels.size(); ++i)
    list.push_back({{"label", class_label(task, parts.labels[i])},
                    {"class", parts.labels[i]},
                    {"probability", json_number(parts.scores[i])}});
  return list;
}

/// The second network's answer for a box; null where it did not run on it.
OrderedJson json_crop(const TaskResult& crop, const Task& task) {
  if (crop.region.whole()) return {};
  OrderedJson json = OrderedJson::object();
  add_findings(json, crop, task);
  return json;
}

OrderedJson json_boxes(const TaskResult& result, const Task& task) {
  const ResultParts parts = parts_of(result);
  OrderedJson list = OrderedJson::array();
  for (std::int64_t i = 0; i < parts.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    OrderedJson entry{{"label", class_label(task, parts.labels[at])},
                      {"class", parts.labels[at]},
                      {"score", json_number(parts.scores[at])},
                      {"box", json_numbers(parts.box(i))}};
    if (result.kind == TaskKind::obb) entry["rotated"] = json_numbers(parts.rotated.subspan(at * 5, 5));
    if (result.kind == TaskKind::segment)
      entry["mask"] = json_mask(result.masks[at], result.width, result.height);
    if (result.kind == TaskKind::pose) {
      entry["keypoints"] = OrderedJson::array();
      for (std::int64_t p = 0; p < parts.points; ++p)
        entry["keypoints"].push_back(json_numbers(parts.point(i, p)));
    }
    if (const TaskResult* crop = crop_of(result, i)) entry["then"] = json_crop(*crop, *result.crop_task);
    list.push_back(std::move(entry));
  }
  return list;
}

OrderedJson json_shares(const TaskResult& result, const Task& task) {
  OrderedJson list = OrderedJson::array();
  for (const ClassShare& share : class_shares(result))
    list.push_back(
        {{"label", class_label(task, share.number)}, {"class", share.number}, {"share", share.share}});
  return list;
}

OrderedJson json_depth(const TaskResult& result) {
  const DepthFacts facts = depth_facts(result);
  const bool known = facts.finite > 0;
  return {{"min", known ? json_number(facts.least) : OrderedJson()},
          {"max", known ? json_number(facts.most) : OrderedJson()},
          {"mean", known ? OrderedJson(facts.mean) : OrderedJson()},
          {"not_finite", facts.not_finite}};
}

/// The field of the result's kind.
void add_findings(OrderedJson& json, const TaskResult& result, const Task& task) {
  switch (result.kind) {
  case TaskKind::classify:
    json["top"] = json_classes(result, task);
    break;
  case TaskKind::detect:
  case TaskKind::segment:
  case TaskKind::pose:
  case TaskKind::obb:
    json["detections"] = json_boxes(result, task);
    break;
  case TaskKind::semantic:
    json["classes"] = json_shares(result, task);
    break;
  case TaskKind::depth:
    json["depth"] = json_depth(result);
    break;
  case TaskKind::image:
    json["image"] = {{"width", result.image.width}, {"height", result.image.height}};
    break;
  case TaskKind::embed:
    json["embedding"] = json_numbers(embedding_of(result));
    break;
  case TaskKind::none:
    fail(ErrorCode::invalid_argument, "result: the task none has nothing to write; expected another task");
  }
}

class JsonFile : public ResultFile {
public:
  explicit JsonFile(const std::filesystem::path& path) : file_(path) {}
  void write(const ImageSource& picture, const TaskResult& result, const Task& task) override {
    file_.write(result_json(picture, result, task) + "\n");
  }
  void finish(const Task&) override { file_.commit(); }

private:
  OutputFile file_;
};

} // namespace

OrderedJson json_crop_of(const TaskResult& result, std::int64_t i) {
  return json_crop(*crop_of(result, i), *result.crop_task);
}

std::string result_json(const ImageSource& picture, const TaskResult& result, const Task& task) {
  OrderedJson json{{"source", picture.source},
                   {"frame", picture.frame},
                   {"pts", picture.pts ? OrderedJson(*picture.pts) : OrderedJson()},
                   {"width", result.width},
                   {"height", result.height}};
  add_findings(json, result, task);
  return json_text(json);
}

std::unique_ptr<ResultFile> open_json_file(const std::filesystem::path& path) {
  return std::make_unique<JsonFile>(path);
}

} // namespace lanner
