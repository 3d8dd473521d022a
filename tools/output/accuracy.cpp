#include "output/accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <lanner/error.h>
#include <lanner/evaluation.h>
#include <lanner/source.h>

#include "check.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

constexpr double match_iou = 0.5;
constexpr std::int64_t max_classes = 1000;

/// x0, y0, x1, y1 in pixels, as edges.
using Box = std::array<double, 4>;

/// Intersection over union; 0 for boxes without area.
double box_iou(const Box& a, const Box& b) {
  const auto area = [](const Box& box) {
    return std::max(0.0, box[2] - box[0]) * std::max(0.0, box[3] - box[1]);
  };
  const double across = std::min(a[2], b[2]) - std::max(a[0], b[0]),
               down = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  const double shared = std::max(0.0, across) * std::max(0.0, down);
  const double whole = area(a) + area(b) - shared;
  return whole > 0 ? shared / whole : 0;
}

struct Thing {
  std::int64_t number;
  std::string label;
  Box box;
  double score = 1; ///< Answers only.
};
using Frames = std::map<std::int64_t, std::vector<Thing>>;

Thing read_thing(const Json& json) {
  Thing thing{json.at("class").get<std::int64_t>(), json.at("label").get<std::string>(), {}};
  check(thing.number >= 0 && thing.number < max_classes, ErrorCode::bad_data, "class {}: expected 0 to {}",
        thing.number, max_classes - 1);
  const Json& box = json.at("box");
  check(box.is_array() && box.size() == 4, ErrorCode::bad_data, "box {}: expected four numbers",
        json_text(box));
  for (std::size_t i = 0; i < 4; ++i) thing.box[i] = box[i].get<double>();
  thing.score = json.value("score", 1.0);
  check(std::ranges::all_of(thing.box, [](double v) { return std::isfinite(v); }), ErrorCode::bad_data,
        "box {}: expected finite numbers", json_text(box));
  return thing;
}

void read_line(std::string_view line, const char* key, Frames& frames) {
  const Json json = parse_json(line);
  const auto frame = json.at("frame").get<std::int64_t>();
  std::vector<Thing> things;
  for (const Json& thing : json.at(key)) things.push_back(read_thing(thing));
  check(frames.emplace(frame, std::move(things)).second, ErrorCode::bad_data, "frame {} comes twice", frame);
}

Frames read_frames(const std::string& path, const char* key) {
  const Content content = read_all(open_path(path));
  std::string_view rest(reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size());
  Frames frames;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    with_context([&] { return fmt::format("{}:{}", path, number); },
                 [&] {
                   try {
                     read_line(line, key, frames);
                   } catch (const Json::exception& error) {
                     fail(ErrorCode::bad_data, "expected an object with frame and {} (label, class, box): {}",
                          key, error.what());
                   }
                 });
  }
  return frames;
}

void name_classes(const Frames& frames, Accuracy& accuracy) {
  for (const auto& [number, things] : frames)
    for (const Thing& thing : things) {
      const auto at = static_cast<std::size_t>(thing.number);
      if (accuracy.classes.size() <= at) accuracy.classes.resize(at + 1);
      std::string& label = accuracy.classes[at].label;
      check(label.empty() || label == thing.label, ErrorCode::bad_data,
            "class {} is called both '{}' and '{}'", thing.number, label, thing.label);
      label = thing.label;
    }
}

/// Matches the boxes of one frame, the best overlap first.
void match(const std::vector<Thing>& truth, std::vector<Thing> found, Accuracy& accuracy) {
  std::vector<bool> taken(truth.size(), false);
  std::vector<bool> used(found.size(), false);
  while (true) {
    double best = 0;
    std::size_t row = 0, column = 0;
    for (std::size_t t = 0; t < truth.size(); ++t)
      for (std::size_t f = 0; f < found.size() && !taken[t]; ++f) {
        const double iou = used[f] ? 0 : box_iou(truth[t].box, found[f].box);
        if (iou <= best) continue;
        best = iou;
        row = t;
        column = f;
      }
    if (best < match_iou) return;
    taken[row] = used[column] = true;
    Accuracy::Class& wanted = accuracy.classes[static_cast<std::size_t>(truth[row].number)];
    ++wanted.found;
    wanted.overlap += best;
    ++wanted.said[static_cast<std::size_t>(found[column].number)];
    ++accuracy.histogram[std::min<std::size_t>(19, static_cast<std::size_t>(best * 20))];
  }
}

TaskResult result_of(const std::vector<Thing>& things) {
  const auto count = static_cast<std::int64_t>(things.size());
  TaskResult result;
  result.kind = TaskKind::detect;
  result.labels = Tensor::allocate(DType::i64, {count});
  result.scores = Tensor::allocate(DType::f32, {count});
  result.boxes = Tensor::allocate(DType::f32, {count, 4});
  for (std::size_t i = 0; i < things.size(); ++i) {
    result.labels.as<std::int64_t>()[i] = things[i].number;
    result.scores.as<float>()[i] = static_cast<float>(things[i].score);
    for (std::size_t k = 0; k < 4; ++k)
      result.boxes.as<float>()[i * 4 + k] = static_cast<float>(things[i].box[k]);
  }
  return result;
}

GroundTruth truth_of(const std::vector<Thing>& things) {
  GroundTruth truth;
  for (const Thing& thing : things) {
    GroundTruthObject object;
    object.label = thing.number;
    object.box = {thing.box[0], thing.box[1], thing.box[2] - thing.box[0], thing.box[3] - thing.box[1]};
    object.area = object.box[2] * object.box[3];
    truth.objects.push_back(std::move(object));
  }
  return truth;
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

} // namespace

std::int64_t Accuracy::objects() const {
  std::int64_t sum = 0;
  for (const Class& one : classes) sum += one.drawn;
  return sum;
}

std::int64_t Accuracy::found() const {
  std::int64_t sum = 0;
  for (const Class& one : classes) sum += one.found;
  return sum;
}

double Accuracy::mean_iou() const {
  double sum = 0;
  for (const Class& one : classes) sum += one.overlap;
  return share(sum, static_cast<double>(objects()));
}

double Accuracy::class_accuracy() const {
  std::int64_t right = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) right += classes[i].said[i];
  return share(static_cast<double>(right), static_cast<double>(found()));
}

double Accuracy::recall() const {
  return share(static_cast<double>(found()), static_cast<double>(objects()));
}
double Accuracy::precision() const {
  return share(static_cast<double>(found()), static_cast<double>(detections));
}

Accuracy measure_accuracy(const std::string& answers, const std::string& truth) {
  const Frames wanted = read_frames(truth, "objects");
  Frames said = read_frames(answers, "detections");
  Accuracy accuracy;
  Task detect;
  detect.kind = TaskKind::detect;
  Evaluator evaluator(detect, 0);
  name_classes(wanted, accuracy);
  name_classes(said, accuracy);
  for (Accuracy::Class& one : accuracy.classes) one.said.resize(accuracy.classes.size());
  accuracy.frames = static_cast<std::int64_t>(wanted.size());
  for (const auto& [frame, things] : said)
    check(wanted.contains(frame), ErrorCode::bad_data, "{}: frame {} is not in {}, which has {} frames",
          answers, frame, truth, wanted.size());
  for (const auto& [frame, things] : wanted) {
    for (const Thing& thing : things) ++accuracy.classes[static_cast<std::size_t>(thing.number)].drawn;
    accuracy.detections += static_cast<std::int64_t>(said[frame].size());
    match(things, said[frame], accuracy);
    evaluator.add("", result_of(said[frame]), truth_of(things));
  }
  const Evaluation evaluation = evaluator.finish();
  accuracy.ap = evaluation.metric("ap");
  accuracy.ap50 = evaluation.metric("ap50");
  return accuracy;
}

} // namespace lanner::tool
