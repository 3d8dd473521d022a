#include <algorithm>
#include <cmath>
#include <map>

#include "base/text/decimal.h"
#include "tasks/files/formats.h"
#include "tasks/files/run_lengths.h"

namespace lanner {

OrderedJson json_number(float value) {
  if (!std::isfinite(value)) return {};
  return shortest_decimal(value);
}

OrderedJson json_mask(const Mask& mask, std::int32_t width, std::int32_t height) {
  return {{"size", {height, width}}, {"counts", packed_run_lengths(run_lengths(mask, width, height))}};
}

std::int64_t mask_pixels(const Mask& mask) {
  if (mask.place.width == 0 || mask.place.height == 0) return 0;
  const auto inside = elements_of<std::uint8_t>(mask.inside, {mask.place.height, mask.place.width}, "masks");
  return std::ranges::count_if(inside, [](std::uint8_t value) { return value != 0; });
}

std::vector<ClassShare> class_shares(const TaskResult& result) {
  const auto classes = elements_of<std::int32_t>(result.classes, {result.height, result.width}, "classes");
  std::map<std::int64_t, std::int64_t> pixels;
  for (std::size_t i = 0; i < classes.size();) {
    const std::size_t start = i;
    while (i < classes.size() && classes[i] == classes[start]) ++i;
    pixels[classes[start]] += static_cast<std::int64_t>(i - start);
  }
  std::vector<ClassShare> shares;
  for (const auto& [number, count] : pixels)
    shares.push_back({number, static_cast<double>(count) / static_cast<double>(classes.size())});
  std::ranges::stable_sort(shares, std::ranges::greater{}, &ClassShare::share);
  return shares;
}

DepthFacts depth_facts(const TaskResult& result) {
  DepthFacts facts;
  for (const float value : elements_of<float>(result.depth, {result.height, result.width}, "depth")) {
    if (!std::isfinite(value)) {
      ++facts.not_finite;
      continue;
    }
    facts.least = facts.finite == 0 ? value : std::min(facts.least, value);
    facts.most = facts.finite == 0 ? value : std::max(facts.most, value);
    facts.mean += value;
    ++facts.finite;
  }
  if (facts.finite > 0) facts.mean /= static_cast<double>(facts.finite);
  return facts;
}

std::span<const float> embedding_of(const TaskResult& result) {
  return elements_of<float>(result.embedding, {-1}, "embedding");
}

} // namespace lanner
