#include "tasks/heads/boxes.h"

#include <algorithm>

#include "base/check.h"

namespace lanner::tasks {
namespace {

// Bound of size offsets: Detectron and torchvision clip them to log(1000 / 16).
const float most_log_size = std::log(1000.f / 16);

std::array<float, 4> edges(const std::array<float, 4>& centred) {
  const float half_width = centred[2] / 2, half_height = centred[3] / 2;
  return {centred[0] - half_width, centred[1] - half_height, centred[0] + half_width,
          centred[1] + half_height};
}

} // namespace

void check_box(const std::array<float, 4>& box, std::int64_t row) {
  check(std::ranges::all_of(box, [](float v) { return std::isfinite(v); }), ErrorCode::bad_data,
        "task: box {} has a number that is not finite", row);
}

BoxReader::BoxReader(const HeadRun& run, Values values, std::int64_t begin, std::int64_t pitch,
                     std::int64_t step)
    : values_(std::move(values)), begin_(begin), pitch_(pitch), step_(step), form_(*run.task.box_form) {
  if (!*run.task.box_normalised) return;
  width_ = static_cast<float>(run.width);
  height_ = static_cast<float>(run.height);
}

std::array<float, 4> BoxReader::numbers(std::int64_t row) const {
  std::array<float, 4> box;
  for (std::int64_t i = 0; i < 4; ++i)
    box[static_cast<std::size_t>(i)] = values_[begin_ + row * pitch_ + i * step_];
  if (form_ == BoxForm::yxyx) box = {box[1], box[0], box[3], box[2]};
  box = {box[0] * width_, box[1] * height_, box[2] * width_, box[3] * height_};
  check_box(box, values_.number(row));
  return box;
}

std::array<float, 4> BoxReader::operator()(std::int64_t row) const {
  const std::array<float, 4> box = numbers(row);
  if (form_ == BoxForm::cxcywh) return edges(box);
  if (form_ == BoxForm::xywh) return {box[0], box[1], box[0] + box[2], box[1] + box[3]};
  return box;
}

std::array<float, 4> BoxReader::centred(std::int64_t row) const {
  const std::array<float, 4> box = numbers(row);
  if (form_ == BoxForm::cxcywh) return box;
  if (form_ == BoxForm::xywh) return {box[0] + box[2] / 2, box[1] + box[3] / 2, box[2], box[3]};
  return {(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0], box[3] - box[1]};
}

AnchorReader::AnchorReader(const HeadRun& run, std::int64_t count) : run_(run), offsets_(run.part("boxes")) {
  std::ranges::copy(run.task.box_scales, scales_.begin());
  if (run.has("anchors")) {
    anchors_ = run.part("anchors");
  } else {
    anchors_ =
        Values(Tensor::from<float>(run.task.anchors, {static_cast<std::int64_t>(run.task.anchors.size())}));
  }
  if (!anchors_.chosen()) count = offsets_.whole()[0];
  check(anchors_.size() == count * 4, ErrorCode::invalid_argument,
        "task: got {} numbers of anchors, expected {}: four for each of {} boxes", anchors_.size(), count * 4,
        count);
}

std::array<float, 4> AnchorReader::operator()(std::int64_t row) const {
  const bool rows_first = *run_.task.box_form == BoxForm::yxyx;
  const auto offset = [&](std::int64_t i) {
    return offsets_[row * 4 + (rows_first ? i ^ 1 : i)] / scales_[static_cast<std::size_t>(i)];
  };
  const std::int64_t own = anchors_.chosen() ? row : offsets_.number(row);
  const auto anchor = [&](std::int64_t i) { return anchors_[own * 4 + i]; };
  const float width = anchor(2) - anchor(0), height = anchor(3) - anchor(1);
  std::array<float, 4> box =
      edges({anchor(0) + width / 2 + offset(0) * width, anchor(1) + height / 2 + offset(1) * height,
             std::exp(std::min(offset(2), most_log_size)) * width,
             std::exp(std::min(offset(3), most_log_size)) * height});
  check_box(box, offsets_.number(row));
  // As in torchvision: the part outside of the input does not count in overlaps.
  for (std::size_t i = 0; i < 4; ++i)
    box[i] = std::clamp(box[i], 0.f, static_cast<float>(i % 2 == 0 ? run_.width : run_.height));
  return box;
}

} // namespace lanner::tasks
