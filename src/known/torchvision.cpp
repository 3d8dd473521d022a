// torchvision's detectors resize and normalise themselves: they take one RGB picture [3, H, W] in 0..1 and
// return lists of boxes, classes and scores, followed by masks or key points.

#include <algorithm>

#include "known/families.h"

namespace lanner::known {

std::optional<KnownPreprocess> torchvision_detector(const ModelSigns& model) {
  if (model.input.size() != 3 || model.input[0] != 3) return std::nullopt;
  const auto count = [&](auto&& fits) { return std::ranges::count_if(model.outputs, fits); };
  const auto boxes = count([](const OutputSigns& output) {
    return output.dims.size() == 2 && (output.dims[1] == 4 || output.dims[1] < 0) &&
           output.dtype != DType::i64;
  });
  const auto labels =
      count([](const OutputSigns& output) { return output.dims.size() == 1 && output.dtype == DType::i64; });
  const auto scores =
      count([](const OutputSigns& output) { return output.dims.size() == 1 && output.dtype != DType::i64; });
  if (boxes < 1 || labels != 1 || scores != 1) return std::nullopt;
  KnownPreprocess found;
  found.spec.range = {0.f, 1.f};
  const InputSize size = input_size(model);
  if (!size.open()) found.spec.fit = Fit::letterbox;
  found.reason = "an input [3, H, W] and lists of boxes, as in torchvision's detectors";
  return found;
}

} // namespace lanner::known
