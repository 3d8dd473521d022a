#include "answer_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.h"

namespace lanner::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_shown_values = 1000;

struct Range {
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity(),
         mean = 0;
  std::size_t not_finite = 0;
};

Range range_of(const std::vector<float>& values) {
  Range range;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++range.not_finite;
      continue;
    }
    range.least = std::min(range.least, static_cast<double>(value));
    range.most = std::max(range.most, static_cast<double>(value));
    range.mean += value;
  }
  const std::size_t finite = values.size() - range.not_finite;
  if (finite > 0) range.mean /= static_cast<double>(finite);
  return range;
}

bool has_numbers(const Tensor& tensor) {
  return tensor.defined() && tensor.dtype() != DType::string && !is_complex(tensor.dtype());
}

std::string output_text(const std::string& name, const Tensor& tensor) {
  std::string text =
      fmt::format("{}: {}{}", one_line(name), to_string(tensor.dtype()), tensor.shape().to_string());
  if (!has_numbers(tensor)) return text;
  const std::vector<float> values = to_floats(tensor);
  const Range range = range_of(values);
  if (values.size() > range.not_finite)
    text += fmt::format("  min {:.6g}, max {:.6g}, mean {:.6g}", range.least, range.most, range.mean);
  if (range.not_finite > 0) text += fmt::format(", {} not finite", range.not_finite);
  return text;
}

Json output_json(const Tensor& tensor) {
  Json json{{"dtype", std::string(to_string(tensor.dtype()))}, {"shape", tensor.shape().dims()}};
  if (!has_numbers(tensor)) return json;
  const std::vector<float> values = to_floats(tensor);
  const Range range = range_of(values);
  const bool finite = values.size() > range.not_finite;
  json["min"] = finite ? Json(range.least) : Json();
  json["max"] = finite ? Json(range.most) : Json();
  json["mean"] = finite ? Json(range.mean) : Json();
  json["not_finite"] = range.not_finite;
  if (values.size() <= max_shown_values) json["values"] = values;
  return json;
}

std::string heading(const PictureAnswers& picture, bool name_source) {
  std::string text = name_source ? one_line(picture.source) + "  " : "";
  text += fmt::format("frame {}", picture.frame);
  return text + (picture.pts ? fmt::format("  pts {:.3f}", *picture.pts) : "  pts -");
}

std::string detection_text(const Answer& answer) {
  return fmt::format("{} {:.2f} [{:.0f} {:.0f} {:.0f} {:.0f}]", one_line(answer.label), answer.score,
                     answer.box[0], answer.box[1], answer.box[2], answer.box[3]);
}

std::string short_text(TaskKind kind, const Answer& answer) {
  return kind == TaskKind::detect ? detection_text(answer)
                                  : fmt::format("{} {:.3f}", one_line(answer.label), answer.score);
}

std::string still_text(const Task& task, const PictureAnswers& picture) {
  std::string text = one_line(picture.source) + "\n";
  for (const Answer& answer : picture.answers)
    text += task.kind == TaskKind::detect
                ? fmt::format("  {}\n", detection_text(answer))
                : fmt::format("  {:.4f}  {}\n", answer.score, one_line(answer.label));
  if (task.kind == TaskKind::detect && picture.answers.empty()) text += "  nothing found\n";
  return text;
}

} // namespace

std::string answer_text(const Task& task, const PictureAnswers& picture, bool name_source) {
  if (task.kind == TaskKind::none) {
    std::string text = picture.still ? one_line(picture.source) + "\n" : "";
    const std::string start = picture.still ? "  " : heading(picture, name_source) + "  ";
    for (const auto& [name, tensor] : *picture.outputs) text += start + output_text(name, tensor) + "\n";
    return text;
  }
  if (picture.still) return still_text(task, picture);
  std::string answers;
  for (const Answer& answer : picture.answers)
    answers += (answers.empty() ? "" : ", ") + short_text(task.kind, answer);
  return fmt::format("{}  {}\n", heading(picture, name_source), answers.empty() ? "nothing found" : answers);
}

std::string answer_json(const Task& task, const PictureAnswers& picture) {
  Json json{{"source", picture.source},
            {"frame", picture.frame},
            {"pts", picture.pts ? Json(*picture.pts) : Json()},
            {"width", picture.width},
            {"height", picture.height}};
  if (task.kind == TaskKind::classify) {
    json["top"] = Json::array();
    for (const Answer& answer : picture.answers)
      json["top"].push_back(
          {{"label", answer.label}, {"class", answer.number}, {"probability", answer.score}});
  } else if (task.kind == TaskKind::detect) {
    json["detections"] = Json::array();
    for (const Answer& answer : picture.answers)
      json["detections"].push_back(
          {{"label", answer.label}, {"class", answer.number}, {"score", answer.score}, {"box", answer.box}});
  } else {
    json["outputs"] = Json::object();
    for (const auto& [name, tensor] : *picture.outputs) json["outputs"][name] = output_json(tensor);
  }
  return visible_json(json.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

} // namespace lanner::tool
