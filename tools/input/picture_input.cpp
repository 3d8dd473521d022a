// Finds the input of a network that takes images.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include <lanner/error.h>

#include "check.h"
#include "options/engine_options.h"

namespace lanner::tool {

namespace {

bool may_hold_pixels(const Binding& input) {
  return !input.sequence && (input.dtype == DType::f32 || input.dtype == DType::f16 ||
                             input.dtype == DType::bf16 || input.dtype == DType::u8);
}

/// Channels of an image: first or last of the three dims.
bool has_channels(const Binding& input) {
  const auto channels = [](std::int64_t dim) { return dim == 3 || dim == 1; };
  const std::size_t count = input.dims.size();
  return count >= 3 && (channels(input.dims[count - 3]) || channels(input.dims[count - 1]));
}

/// Inputs that may take images; only those of the likeliest kind.
std::vector<const Binding*> picture_candidates(const std::vector<Binding>& inputs,
                                               const std::map<std::string, Tensor>& given) {
  std::vector<const Binding*> pictures, single, rows;
  for (const Binding& input : inputs) {
    if (given.contains(input.name) || input.state || input.defaulted) continue;
    if (!input.image.empty()) pictures.push_back(&input);
    if (!input.image.empty() || !may_hold_pixels(input)) continue;
    if (input.dims.size() == 4) pictures.push_back(&input);
    if (input.dims.size() == 3 && has_channels(input)) single.push_back(&input);
    if (input.dims.size() == 2) rows.push_back(&input);
  }
  const auto colored = [](const Binding* input) { return !input->image.empty() || has_channels(*input); };
  if (pictures.size() > 1 && std::ranges::count_if(pictures, colored) == 1)
    std::erase_if(pictures, [&](const Binding* input) { return !colored(input); });
  return !pictures.empty() ? pictures : !single.empty() ? single : rows;
}

} // namespace

const Binding& picture_input(const std::vector<Binding>& inputs, const std::string& name,
                             const std::map<std::string, Tensor>& given) {
  std::vector<std::string> names, types;
  for (const Binding& input : inputs) {
    if (input.name == name) return input;
    if (input.defaulted) continue; // initialisers that may be overridden
    names.push_back(input.name);
    types.push_back(input.to_string());
  }
  check(name.empty(), ErrorCode::invalid_argument, "--input: the model has no input '{}'; there is {}", name,
        fmt::join(names, ", "));
  const std::vector<const Binding*> candidates = picture_candidates(inputs, given);
  check(!candidates.empty(), ErrorCode::invalid_argument,
        "no input of the model takes images (four dimensions, three without a batch, or two with a row of "
        "pixels, of a floating-point type or u8); its inputs are {}",
        fmt::join(types, ", "));
  std::vector<std::string> several;
  for (const Binding* input : candidates) several.push_back(input->name);
  check(candidates.size() == 1, ErrorCode::invalid_argument,
        "several inputs could take images: {}; give --input NAME", fmt::join(several, ", "));
  return *candidates[0];
}

} // namespace lanner::tool
