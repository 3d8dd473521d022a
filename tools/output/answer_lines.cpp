#include "output/answer_lines.h"

#include <lanner/classes.h>
#include <lanner/result_writer.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output/console.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

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

/// Pixels of each class, most frequent first.
std::vector<std::pair<std::int64_t, std::int64_t>> class_areas(const Tensor& classes) {
  std::map<std::int64_t, std::int64_t> areas;
  for (const std::int32_t number : classes.as<std::int32_t>())
    if (number >= 0) ++areas[number];
  std::vector<std::pair<std::int64_t, std::int64_t>> sorted(areas.begin(), areas.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<std::int64_t, std::int64_t>::second);
  return sorted;
}

/// One property of a whole image, in a few words.
std::vector<std::string> words_of(const lanner::Task& task, const TaskResult& result) {
  std::vector<std::string> words;
  const double pixels = static_cast<double>(result.width) * result.height;
  if (result.kind == TaskKind::semantic)
    for (const auto& [number, area] : class_areas(result.classes))
      words.push_back(fmt::format("{} {:.1f}%", one_line(class_label(task, number)),
                                  static_cast<double>(area) / pixels * 100));
  if (result.kind == TaskKind::depth) {
    const Range range = range_of(to_floats(result.depth));
    words.push_back(fmt::format("depth {:.4g} to {:.4g}", range.least, range.most));
  }
  if (result.kind == TaskKind::image)
    words.push_back(fmt::format("image {} x {}", result.image.width, result.image.height));
  if (result.kind == TaskKind::embed)
    words.push_back(fmt::format("{} features", result.embedding.elements()));
  return words;
}

/// The second network's answer for box `i`, in brackets after it: the best class, or what it found.
std::string second_network_text(const TaskResult& result, std::size_t i) {
  if (result.crops.empty() || result.crops[i].region.whole()) return {};
  const TaskResult& crop = result.crops[i];
  const lanner::Task& task = *result.crop_task;
  std::vector<std::string> words = words_of(task, crop);
  const std::size_t shown = crop.kind == TaskKind::classify ? 1 : static_cast<std::size_t>(crop.count());
  for (std::size_t k = 0; k < shown && k < static_cast<std::size_t>(crop.count()); ++k) {
    Answer answer = answer_of(crop, k);
    answer.label = class_label(task, answer.number);
    words.push_back(has_boxes(crop.kind) ? detection_text(answer)
                                         : fmt::format("{} {:.2f}", one_line(answer.label), answer.score));
  }
  return words.empty() ? " (nothing found)" : fmt::format(" ({})", fmt::join(words, ", "));
}

std::string short_text(const PictureAnswers& picture, std::size_t i) {
  const Answer& answer = picture.answers[i];
  return has_boxes(picture.result.kind) ? detection_text(answer) + second_network_text(picture.result, i)
                                        : fmt::format("{} {:.3f}", one_line(answer.label), answer.score);
}

std::string still_text(const TaskReader& reader, const PictureAnswers& picture) {
  const TaskKind kind = picture.result.kind;
  std::string text = one_line(picture.source) + "\n";
  for (std::size_t i = 0; i < picture.answers.size(); ++i)
    text += has_boxes(kind)
                ? fmt::format("  {}\n", short_text(picture, i))
                : fmt::format("  {:.4f}  {}\n", picture.answers[i].score, one_line(picture.answers[i].label));
  for (const std::string& word : words_of(reader.task(), picture.result)) text += "  " + word + "\n";
  if (has_boxes(kind) && picture.answers.empty()) text += "  nothing found\n";
  return text;
}

} // namespace

std::string answer_text(const TaskReader& reader, const PictureAnswers& picture, bool name_source) {
  const TaskKind kind = reader.task().kind.value();
  if (kind == TaskKind::none) {
    std::string text = picture.still ? one_line(picture.source) + "\n" : "";
    const std::string start = picture.still ? "  " : heading(picture, name_source) + "  ";
    for (const auto& [name, tensor] : *picture.outputs) text += start + output_text(name, tensor) + "\n";
    return text;
  }
  if (picture.still) return still_text(reader, picture);
  std::string answers;
  for (std::size_t i = 0; i < picture.answers.size(); ++i)
    answers += (answers.empty() ? "" : ", ") + short_text(picture, i);
  for (const std::string& word : words_of(reader.task(), picture.result))
    answers += (answers.empty() ? "" : ", ") + word;
  return fmt::format("{}  {}\n", heading(picture, name_source), answers.empty() ? "nothing found" : answers);
}

std::string answer_json(const TaskReader& reader, const PictureAnswers& picture) {
  const ImageSource source{picture.source, picture.still, picture.frame, picture.pts};
  if (reader.task().kind != TaskKind::none)
    return visible_json(result_json(source, picture.result, reader.task())) + "\n";
  Json json{{"source", picture.source},
            {"frame", picture.frame},
            {"pts", picture.pts ? Json(*picture.pts) : Json()},
            {"width", picture.width},
            {"height", picture.height},
            {"outputs", Json::object()}};
  for (const auto& [name, tensor] : *picture.outputs) json["outputs"][name] = output_json(tensor);
  return visible_json(json_text(json)) + "\n";
}

} // namespace lanner::tool
