#pragma once
// Runs task readers on given tensors, and a plain implementation of the same.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/task.h>

#include "tasks/declare/resolve.h"
#include "tasks/read/reader.h"

namespace lanner::test {

/// Numbers in [low, high), the same on every machine.
class Draw {
public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}
  float operator()(float low = 0, float high = 1) {
    return low + (high - low) * static_cast<float>(engine_() >> 8) * 0x1p-24f;
  }
  Tensor tensor(const Shape& shape, float low = 0, float high = 1) {
    Tensor tensor = Tensor::allocate(DType::f32, shape);
    for (float& value : tensor.as<float>()) value = (*this)(low, high);
    return tensor;
  }

private:
  std::mt19937 engine_;
};

inline Tensor as_type(const Tensor& tensor, DType type) {
  Tensor result = Tensor::allocate(type, tensor.shape());
  copy_tensor(tensor, result);
  return result;
}
/// Rounded to the type and back.
inline Tensor rounded(const Tensor& tensor, DType type) {
  return as_type(as_type(tensor, type), DType::f32);
}

inline Binding binding_of(const std::string& name, const Tensor& tensor) {
  Binding binding;
  binding.name = name;
  binding.dtype = tensor.dtype();
  binding.dims = tensor.shape().dims();
  for (const std::int64_t dim : binding.dims) binding.dim_names.push_back(std::to_string(dim));
  return binding;
}

inline Preprocess input_of(std::int32_t width, std::int32_t height, Fit fit = Fit::letterbox) {
  Preprocess spec;
  spec.width = width;
  spec.height = height;
  spec.fit = fit;
  return spec;
}

/// The task of outputs with these shapes, for a network with this input.
inline ResolvedTask resolved(const Task& given, const tasks::Outputs& outputs, const Preprocess& spec,
                             const std::map<std::string, std::string>& metadata = {}) {
  tasks::Facts facts;
  facts.wanted = given;
  facts.width = spec.width;
  facts.height = spec.height;
  for (const auto& [name, tensor] : outputs) facts.outputs.push_back(binding_of(name, tensor));
  return tasks::resolve(facts, metadata);
}

inline TaskResult read(const Task& given, const tasks::Outputs& outputs, const Preprocess& spec,
                       std::int32_t width, std::int32_t height, std::int64_t element = 0) {
  return tasks::read_result(resolved(given, outputs, spec).task, spec, outputs, width, height, element, {});
}

inline Task task_of(TaskKind kind, Head head) {
  Task task;
  task.kind = kind;
  task.head = head;
  return task;
}

/// A detection of the plain implementation: edges in pixels of the input.
struct Plain {
  std::array<double, 4> box{};
  double score = 0;
  std::int64_t label = 0, row = 0;
};

inline std::array<double, 4> edges_of(double cx, double cy, double w, double h) {
  return {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2};
}

inline double plain_iou(const std::array<double, 4>& a, const std::array<double, 4>& b) {
  const auto area = [](const std::array<double, 4>& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  const double w = std::max(0., std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const double h = std::max(0., std::min(a[3], b[3]) - std::max(a[1], b[1]));
  return w * h / (area(a) + area(b) - w * h);
}

inline void sort_by_score(std::vector<Plain>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Plain& a, const Plain& b) { return a.score > b.score; });
}

/// Greedy suppression class by class, best first.
inline std::vector<Plain> plain_suppression(std::vector<Plain> all, double threshold, bool agnostic = false) {
  sort_by_score(all);
  std::vector<Plain> kept;
  for (const Plain& one : all) {
    bool covered = false;
    for (const Plain& better : kept)
      covered |= (agnostic || better.label == one.label) && plain_iou(better.box, one.box) > threshold;
    if (!covered) kept.push_back(one);
  }
  return kept;
}

/// Scale and position of a letterboxed picture in the input.
struct Letterbox {
  double scale, left, top;
  Letterbox(double width, double height, double input_width, double input_height)
      : scale(std::min(input_width / width, input_height / height)), left((input_width - width * scale) / 2),
        top((input_height - height * scale) / 2) {}
};

/// Boxes that are at least partly in the picture.
inline std::vector<Plain> seen(const std::vector<Plain>& all, const Letterbox& place, double width,
                               double height) {
  std::vector<Plain> inside;
  for (const Plain& one : all)
    if (one.box[2] > place.left && one.box[3] > place.top && one.box[0] < place.left + width * place.scale &&
        one.box[1] < place.top + height * place.scale)
      inside.push_back(one);
  return inside;
}

/// Expects these detections in picture coordinates, clipped; those outside of the picture are left out.
inline void expect_detections(const TaskResult& result, const std::vector<Plain>& expected,
                              const Letterbox& place, double width, double height, double tolerance = 1e-2) {
  std::vector<Plain> inside;
  for (Plain one : expected) {
    const double limits[] = {width, height, width, height},
                 shift[] = {place.left, place.top, place.left, place.top};
    for (std::size_t i = 0; i < 4; ++i)
      one.box[i] = std::clamp((one.box[i] - shift[i]) / place.scale, 0., limits[i]);
    if (one.box[2] > one.box[0] && one.box[3] > one.box[1]) inside.push_back(one);
  }
  ASSERT_EQ(result.count(), static_cast<std::int64_t>(inside.size()));
  EXPECT_GT(result.count(), 0) << "the test compares nothing";
  ASSERT_EQ(result.boxes.shape(), (Shape{result.count(), 4}));
  for (std::size_t i = 0; i < inside.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(result.labels.as<std::int64_t>()[i], inside[i].label);
    EXPECT_NEAR(result.scores.as<float>()[i], inside[i].score, 1e-4);
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_NEAR(result.boxes.as<float>()[i * 4 + k], inside[i].box[k], tolerance);
  }
}

inline double plain_sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

} // namespace lanner::test
