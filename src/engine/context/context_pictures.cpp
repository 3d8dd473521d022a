// Context: pictures bound to inputs with built-in preprocessing and to tensor inputs.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "base/text/json.h"
#include "engine/context/context_state.h"
#include "engine/context/picture_tensor.h"
#include "image/picture_record.h"

namespace lanner {
namespace {

/// `fit "crop", mean [0, 0, 0]`: the fields of `spec` that differ in `other`.
std::string differences(const Preprocess& spec, const Preprocess& other) {
  const auto own = parse_own_json(spec.to_json());
  const auto others = parse_own_json(other.to_json());
  std::vector<std::string> list;
  for (const auto& [key, value] : own.items())
    if (value != others[key]) list.push_back(fmt::format("{} {}", key, json_text(value)));
  return joined(list, ", ");
}

} // namespace

Preprocess picture_spec(const std::string& input, const Preprocess& built, const Preprocess* asked) {
  if (!asked) return built;
  Preprocess same = *asked;
  same.region = built.region;
  same.quarter_turns = built.quarter_turns;
  same.width = asked->width ? asked->width : built.width;
  same.height = asked->height ? asked->height : built.height;
  check(same == built, ErrorCode::invalid_argument,
        "input {}: its preprocessing is part of the engine, where only region and quarter_turns may differ; "
        "expected {}, got {}",
        input, differences(built, same), differences(same, built));
  same.region = asked->region;
  same.quarter_turns = asked->quarter_turns;
  return same;
}

void check_picture(const Binding& input, const ImageInputOptions& taken, const Image& image) {
  check(!taken.format || image.format == *taken.format, ErrorCode::invalid_argument,
        "input {}: the picture is {}, expected {}; convert it first", input.name, to_string(image.format),
        input.image);
}

Tensor picture_tensor(std::span<const Image> images, std::span<const Preprocess> specs,
                      const EngineState& engine, std::size_t input, const PictureMemory& memory) {
  const Layout& layout = engine.callers.input(input).layout;
  const auto spec_of = [&](std::size_t n) {
    Preprocess spec = specs[specs.size() == 1 ? 0 : n];
    // A channels-last input is written in that layout directly.
    spec.channels_last |= layout == Layout::channels_last(4);
    return spec;
  };
  const bool turned = !specs[0].channels_last && layout == Layout::channels_last(4);
  Shape shape{static_cast<std::int64_t>(images.size())};
  for (std::int64_t size : output_shape(spec_of(0), images[0].width, images[0].height)) shape.push_back(size);
  Tensor& held = memory.spare.get(specs[0].dtype, shape, engine.target.device, memory.idle_bytes);
  for (std::size_t n = 0; n < images.size(); ++n)
    preprocess(images[n], spec_of(n), held, static_cast<std::int64_t>(n), {memory.threads, {}});
  if (turned)
    return Tensor::wrap(held.data(), held.dtype(), {shape[0], shape[3], shape[1], shape[2]}, held.owner(),
                        layout, held.device());
  const Binding& binding = engine.inputs[input];
  if (binding.dims.size() == 2) return held.reshaped({shape[0], held.elements() / shape[0]});
  if (binding.dims.size() != 3) return held;
  check(images.size() == 1, ErrorCode::invalid_argument,
        "input {}: {} pictures were bound, but it has no batch; expected one", binding.to_string(),
        images.size());
  return held.reshaped({shape[1], shape[2], shape[3]});
}

/// Safety: records must have been made by this process, for pictures that are still alive.
void Context::State::check_records(std::size_t i, const Tensor& records) const {
  const Binding& input = engine->inputs[i];
  const bool fits = records.defined() && records.dtype() == DType::u8 && records.device().is_host() &&
                    records.rank() == 2 && records.shape()[1] == picture_record_bytes &&
                    records.layout().row_major();
  check(fits, ErrorCode::invalid_argument, "input {}: it takes pictures; bind an Image", input.to_string());
  for (std::int64_t n = 0; n < records.shape()[0]; ++n)
    with_context([&] { return "input " + input.name; },
                 [&] {
                   static_cast<void>(
                       read_record(static_cast<const std::byte*>(records.data()) + n * picture_record_bytes));
                 });
}

void Context::State::bind_pictures(std::size_t i, std::span<const Image> images, const Preprocess* spec) {
  const Binding& input = engine->inputs[i];
  const ImageInputOptions& taken = *engine->pictures[i];
  const auto count = static_cast<std::int64_t>(images.size());
  check(input.dims[0] < 0 || input.dims[0] == count, ErrorCode::invalid_argument,
        "input {}: a batch of {} was bound, the network takes {} at once", input.to_string(), count,
        input.dims[0]);
  const Preprocess wanted = picture_spec(input.name, taken.preprocess, spec);
  for (const Image& image : images) check_picture(input, taken, image);
  auto held = with_context(
      [&] { return "input " + input.name; },
      [&] { return std::make_shared<BoundPictures>(images, std::span(&wanted, 1), device(), staging[i]); });
  const Tensor& records = held->records();
  if (shapes[i] != records.shape()) engine->check_fits(i, records.shape());
  sources[i] = images[0].device;
  take_tensor(i, records);
  pictures[i] = std::move(held);
}

void Context::bind(std::string_view input, std::span<const Image> images, const Preprocess* spec) {
  State& state = *state_;
  const AccountScope charged(state.account);
  const std::size_t i = state.input(input);
  check(!images.empty(), ErrorCode::invalid_argument, "input {}: no image was given", input);
  if (!state.engine->inputs[i].image.empty()) return state.bind_pictures(i, images, spec);
  const auto stored = state.engine->preprocess.find(input);
  const Preprocess* chosen = spec                                       ? spec
                             : stored != state.engine->preprocess.end() ? &stored->second
                                                                        : nullptr;
  check(chosen != nullptr, ErrorCode::invalid_argument,
        "input {}: an image is bound but the engine has no preprocessing for it; give one when building or "
        "binding",
        input);
  state.bound[i] = {}; // tensors of an earlier run's pictures may be overwritten
  bind(input, Item(picture_tensor(images, std::span(chosen, 1), *state.engine, i,
                                  {state.filled[i], state.idle_bytes(), state.threads})));
  state.sources[i] = images[0].device;
}

} // namespace lanner
