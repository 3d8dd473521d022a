#include "engine/context/region_input.h"

#include <algorithm>
#include <vector>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "engine/context/picture_tensor.h"
#include "engine/state.h"

namespace lanner {
namespace {

constexpr std::uint64_t idle_bytes = 64u << 20; ///< Kept of batches of other sizes.

} // namespace

RegionInput::RegionInput(const Engine& engine, const std::string& input, const Preprocess& spec)
    : engine_(engine), spec_(spec) {
  const auto& inputs = engine.inputs();
  const auto found = std::ranges::find(inputs, input, &Binding::name);
  check(found != inputs.end(), ErrorCode::invalid_argument,
        "input {}: the engine has no input with this name", input);
  input_ = static_cast<std::size_t>(found - inputs.begin());
  if (const auto& taken = state_of(engine).pictures[input_])
    spec_ = picture_spec(input, taken->preprocess, &spec);
}

void RegionInput::bind(Context& context, const Image& picture, std::span<const PixelRect> regions) {
  const EngineState& state = state_of(engine_);
  const AccountScope charged(state.account);
  const Binding& input = state.inputs[input_];
  const std::vector<Image> images(regions.size(), picture);
  std::vector<Preprocess> specs(regions.size(), spec_);
  for (std::size_t n = 0; n < regions.size(); ++n) specs[n].region = regions[n];
  if (!state.pictures[input_]) {
    context.unbind(); // Tensors of an earlier picture's parts may be overwritten.
    context.bind(input.name, Item(picture_tensor(images, specs, state, input_,
                                                 {filled_, idle_bytes, context.threads()})));
    return;
  }
  check_picture(input, *state.pictures[input_], picture);
  auto bound = std::make_unique<BoundPictures>(images, specs, state.target.device, staging_);
  context.bind(input.name, Item(bound->records()));
  // Before the run, which is on the same stream.
  bound->upload({});
  bound_ = std::move(bound);
}

} // namespace lanner
