#include "builder/input_preprocess.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/known_preprocess.h>
#include <lanner/log.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "base/text/one_line.h"
#include "engine/context/input_names.h"
#include "engine/plan_file/plan_file.h"

namespace lanner {
namespace {

/// Sizes of preprocessing's result, -1 where they depend on the picture or the batch.
std::array<std::int64_t, 4> preprocessed_sizes(const Preprocess& spec) {
  const std::int64_t channels = spec.gray ? 1 : 3;
  const bool follows = spec.multiple > 1;
  const std::int64_t height = spec.height > 0 && !follows ? spec.height : -1,
                     width = spec.width > 0 && !follows ? spec.width : -1;
  if (spec.channels_last) return {-1, height, width, channels};
  return {-1, channels, height, width};
}

/// Whether an input accepts sizes, some of them unknown; rank 2 takes a picture as a row, rank 3 a single
/// picture.
bool takes(const Dims& dims, std::span<const std::int64_t, 4> sizes) {
  const auto equal = [](const Dim& dim, std::int64_t size) {
    return size < 0 || dim.constant().value_or(size) == size;
  };
  if (dims.size() == 3) return std::ranges::equal(dims, sizes.subspan(1), equal);
  if (dims.size() != 2) return std::ranges::equal(dims, sizes, equal);
  const auto element = sizes.subspan(1);
  const bool known = std::ranges::all_of(element, [](std::int64_t size) { return size > 0; });
  return equal(dims[1], known ? Shape(element).elements() : -1);
}

/// Element type of the tensors that are bound.
DType type_of(const Value& input, const BuildOptions& options) {
  const auto held = options.storages.find(input.name());
  const BindingStorage storage = held == options.storages.end() ? BindingStorage{} : held->second;
  return storage.dtype.value_or(input.type.dtype());
}

/// Whether channels come last: only the last dim has their number.
bool tells_channels_last(const Dims& dims, const Preprocess& spec) {
  const std::int64_t channels = spec.gray ? 1 : 3;
  const auto first = dims[dims.size() - 3].constant(), last = dims[dims.size() - 1].constant();
  return first.value_or(-1) != channels && last == channels;
}

/// Fills in size, type and layout from the input where they are not given.
Preprocess settled(const Value& input, Preprocess spec, const BuildOptions& options) {
  if (!input.type.is_tensor()) return spec;
  const DType type = type_of(input, options);
  const bool pixels = type == DType::u8 || type == DType::f16 || type == DType::bf16;
  if (spec.dtype == DType::f32 && pixels) spec.dtype = type;
  if (!input.type.ranked() || (input.type.rank() != 4 && input.type.rank() != 3)) return spec;
  spec.channels_last |= tells_channels_last(input.type.dims(), spec);
  const std::size_t rows = input.type.rank() - (spec.channels_last ? 3 : 2);
  const auto settle = [&](std::int32_t& side, std::size_t dim) {
    const auto size = input.type.dims()[dim].constant();
    if (side == 0 && size && *size > 0 && *size <= 65536) side = static_cast<std::int32_t>(*size);
  };
  settle(spec.height, rows);
  settle(spec.width, rows + 1);
  return spec;
}

void check_preprocess(const Value& input, const Preprocess& spec, const BuildOptions& options) {
  const auto sizes = preprocessed_sizes(spec);
  const bool fits = input.type.is_tensor() && type_of(input, options) == spec.dtype &&
                    (!input.type.ranked() || takes(input.type.dims(), sizes));
  const auto shown = [](std::int64_t size) { return size < 0 ? "?" : std::to_string(size); };
  check(fits, ErrorCode::invalid_argument,
        "preprocess for {}: it gives {}[{}, {}, {}, {}], the model expects {}", input.name(),
        to_string(spec.dtype), shown(sizes[0]), shown(sizes[1]), shown(sizes[2]), shown(sizes[3]),
        input.type.to_string());
}

Preprocess fitted(const Value& input, const Preprocess& given, const BuildOptions& options) {
  const Preprocess spec = settled(input, given, options);
  check_preprocess(input, spec, options);
  return spec;
}

/// Inputs of `rank` that may hold pixels and that callers bind.
std::vector<const Value*> inputs_of_rank(const Graph& graph, std::size_t rank, const BuildOptions& options) {
  std::vector<const Value*> inputs;
  for (const auto& input : graph.body().parameters()) {
    const auto is_state = [&](const StateNames& state) { return state.input == input->name(); };
    if (input->type.is_tensor() && input->type.ranked() && input->type.rank() == rank &&
        std::ranges::none_of(options.states, is_state))
      inputs.push_back(input.get());
  }
  return inputs;
}

bool is_settled(const std::string& input, const BuildOptions& options) {
  return options.preprocess.contains(input) || options.images.contains(input);
}

void warn(const std::string& key, std::string_view reason) {
  log_message(LogLevel::warning, one_line(fmt::format("metadata {}: {}; it is ignored, so pictures must "
                                                      "be bound with a preprocessing of their own",
                                                      key, reason),
                                          2000));
}

/// `lanner.preprocess`, which names no input, applies to the only one that it fits.
void take_for_all(const Graph& graph, const std::string& json, const BuildOptions& options,
                  std::map<std::string, Preprocess>& specs) {
  std::vector<const Value*> inputs = inputs_of_rank(graph, 4, options);
  if (inputs.empty()) inputs = inputs_of_rank(graph, 2, options); // a picture as a row
  std::erase_if(inputs, [&](const Value* input) {
    return specs.contains(input->name()) || is_settled(input->name(), options);
  });
  if (inputs.empty()) return; // all have their own
  const Preprocess spec = Preprocess::from_json(json);
  if (inputs.size() == 1) {
    specs[inputs[0]->name()] = fitted(*inputs[0], spec, options);
    return;
  }
  std::vector<std::string> names;
  for (const Value* input : inputs) {
    try {
      const Preprocess own = fitted(*input, spec, options);
      names.push_back(input->name());
      specs[names.back()] = own;
    } catch (const Error&) { // not a picture input
    }
  }
  if (names.size() <= 1) return;
  for (const std::string& name : names) specs.erase(name);
  fail(ErrorCode::bad_data, "it fits several inputs: {}; name one, as {}{}", joined(names, ", "),
       preprocess_key, names[0]);
}

/// Preprocessing declared in the model's metadata; unusable entries are erased.
std::map<std::string, Preprocess> declared(Graph& graph, const BuildOptions& options) {
  std::map<std::string, Preprocess> specs;
  const auto take = [&](const std::string& key, const auto& read) {
    const auto found = graph.metadata.find(key);
    if (found == graph.metadata.end()) return;
    try {
      read(found->second);
    } catch (const Error& error) {
      warn(key, error.message());
    }
  };
  for (const auto& input : graph.body().parameters()) {
    const std::string key = preprocess_key + input->name();
    if (!is_settled(input->name(), options))
      take(key, [&](const std::string& json) {
        specs[input->name()] = fitted(*input, Preprocess::from_json(json), options);
      });
    graph.metadata.erase(key); // the final one is written there at the end
  }
  take("lanner.preprocess", [&](const std::string& json) { take_for_all(graph, json, options, specs); });
  return specs;
}

std::vector<std::int64_t> sizes_of(const Type& type) {
  std::vector<std::int64_t> sizes;
  if (type.is_tensor() && type.ranked())
    for (const Dim& dim : type.dims()) sizes.push_back(dim.constant().value_or(-1));
  return sizes;
}

/// The only input that can take pictures.
const Value* picture_input(const Graph& graph, const BuildOptions& options) {
  std::vector<const Value*> inputs = inputs_of_rank(graph, 4, options);
  if (inputs.empty()) inputs = inputs_of_rank(graph, 3, options);
  return inputs.size() == 1 ? inputs[0] : nullptr;
}

/// Preprocessing of a known network family, where neither the caller nor the model's metadata has one.
void take_known(const Graph& graph, const BuildOptions& options, const std::filesystem::path& folder,
                std::map<std::string, Preprocess>& specs) {
  const Value* input = picture_input(graph, options);
  if (!input || specs.contains(input->name()) || is_settled(input->name(), options)) return;
  ModelSigns signs{graph.metadata, folder, sizes_of(input->type), {}};
  for (const Value* output : graph.body().outputs())
    signs.outputs.push_back(
        {output->type.is_tensor() ? output->type.dtype() : DType::string, sizes_of(output->type)});
  const auto found = known_preprocess(signs);
  if (!found) return;
  try {
    specs[input->name()] = fitted(*input, found->spec, options);
    log_message(LogLevel::info, one_line(fmt::format("input {}: pictures are preprocessed by {}",
                                                     input->name(), found->reason),
                                         2000));
  } catch (const Error&) { // no input for such pictures
  }
}

} // namespace

std::map<std::string, Preprocess> settle_preprocess(Graph& graph, const BuildOptions& options,
                                                    const std::filesystem::path& folder) {
  std::map<std::string, Preprocess> specs = declared(graph, options);
  take_known(graph, options, folder, specs);
  for (const auto& [name, spec] : options.preprocess) {
    check(!options.images.contains(name), ErrorCode::invalid_argument,
          "preprocess for {}: the input is built to take pictures; give their preprocessing in `images`",
          name);
    const std::size_t number =
        with_context([] { return "preprocess"; }, [&, &input = name] { return input_number(graph, input); });
    specs[name] = fitted(*graph.body().parameter(number), spec, options);
  }
  return specs;
}

} // namespace lanner
