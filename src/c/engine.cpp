// Engines of the C interface.

#include <cmath>
#include <initializer_list>

#include <lanner/dlpack.h>
#include <lanner/dlpack_structs.h>

#include "boundary.h"
#include "check.h"
#include "handles.h"

namespace lanner::c {
namespace {

Shape shape_of(const std::int64_t* sizes, std::size_t rank) {
  return Shape(std::span<const std::int64_t>(sizes, rank));
}

ShapeRange range_of(const lanner_shape_range& given, const Limits& limits) {
  check(given.rank <= limits.rank, ErrorCode::limit_exceeded,
        "shape of {}: rank {}, over the limit rank of {}; raise it with limits = \"rank=N\"",
        text(given.input, "input of a shape"), given.rank, limits.rank);
  if (given.rank > 0) required(given.min, "min of a shape");
  const auto or_min = [&](const std::int64_t* sizes) {
    return shape_of(sizes ? sizes : given.min, given.rank);
  };
  return {shape_of(given.min, given.rank), or_min(given.opt), or_min(given.max)};
}

std::map<std::string, ShapeRange> ranges_of(const lanner_shape_range* given, std::size_t count,
                                            const Limits& limits) {
  if (count > 0) required(given, "shapes");
  std::map<std::string, ShapeRange> ranges;
  for (std::size_t i = 0; i < count; ++i)
    ranges[text(given[i].input, "input of a shape")] = range_of(given[i], limits);
  return ranges;
}

template<typename Options>
Control control_of(const Options& given) {
  Control control;
  if (!given.progress) return control;
  control.cancel = CancelToken::create();
  control.progress = [cancel = control.cancel, call = given.progress,
                      user = given.progress_user](const ProgressUpdate& update) {
    const std::string stage(update.stage);
    if (call(user, stage.c_str(), update.done, update.total) != 0) cancel.cancel();
  };
  return control;
}

/// What is agreed on the callers' memory.
void read_callers(const lanner_build_options& given, BuildOptions& result) {
  if (given.state_count > 0) required(given.states, "states");
  for (std::size_t i = 0; i < given.state_count; ++i)
    result.states.push_back(
        {text(given.states[i].input, "input of a state"), text(given.states[i].output, "output of a state")});
  if (given.alias_count > 0) required(given.aliases, "aliases");
  for (std::size_t i = 0; i < given.alias_count; ++i)
    result.aliases.push_back({text(given.aliases[i].output, "output of an alias"),
                              text(given.aliases[i].input, "input of an alias")});
  if (given.overwritable_count > 0) required(given.overwritable, "overwritable");
  for (std::size_t i = 0; i < given.overwritable_count; ++i)
    result.overwritable.push_back(text(given.overwritable[i], "overwritable"));
  if (given.storage_count > 0) required(given.storages, "storages");
  for (std::size_t i = 0; i < given.storage_count; ++i)
    result.storages[text(given.storages[i].name, "name of a storage")] =
        BindingStorage::parse(text(given.storages[i].storage, "storage"));
}

void read_outputs(const lanner_build_options& given, BuildOptions& result) {
  if (given.output_count > 0) required(given.outputs, "outputs");
  for (std::size_t i = 0; i < given.output_count; ++i)
    result.outputs.push_back(text(given.outputs[i], "name of an output"));
}

void read_overridden(const lanner_build_options& given, BuildOptions& result) {
  if (given.overridden_count > 0) required(given.overridden, "overridden");
  for (std::size_t i = 0; i < given.overridden_count; ++i)
    result.overridden.push_back(text(given.overridden[i], "name of an initialiser"));
}

void read_metadata(const lanner_build_options& given, BuildOptions& result) {
  if (given.metadata_count > 0) required(given.metadata, "metadata");
  for (std::size_t i = 0; i < given.metadata_count; ++i)
    result.metadata[text(given.metadata[i].key, "key of metadata")] =
        text(given.metadata[i].value, "value of metadata");
}

void read_pictures(const lanner_build_options& given, BuildOptions& result) {
  if (given.picture_count > 0) required(given.pictures, "pictures");
  for (std::size_t i = 0; i < given.picture_count; ++i) {
    const lanner_input_picture& picture = given.pictures[i];
    PictureOptions& taken = result.pictures[text(picture.input, "input of a picture")];
    if (picture.format) taken.format = parse_pixel_format(picture.format);
    taken.preprocess = preprocess_of(picture.preprocess);
  }
}

std::optional<std::uint64_t> budget_of(std::uint64_t bytes) {
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

void read_devices(const lanner_build_options& given, BuildOptions& result) {
  if (given.device) {
    std::vector<Device> devices = parse_devices(given.device);
    result.device = devices.front();
    result.placement.devices.assign(devices.begin() + 1, devices.end());
  }
  if (given.placed_count > 0) required(given.placed, "placed");
  for (std::size_t i = 0; i < given.placed_count; ++i)
    result.placement.nodes.push_back({text(given.placed[i].pattern, "pattern of a placement"),
                                      Device::parse(text(given.placed[i].device, "device of a placement"))});
  result.placement.strict = given.strict != 0;
}

void check_reserved(std::initializer_list<std::int32_t> given) {
  for (const std::int32_t reserved : given)
    check(reserved == 0, ErrorCode::unsupported, "reserved is {}: expected 0", reserved);
}

BuildOptions options_of(const lanner_build_options* options) {
  const lanner_build_options given = read_options(options);
  BuildOptions result;
  if (given.precision) result.precision = Precision::parse(given.precision);
  if (given.pin_count > 0) required(given.pins, "pins");
  for (std::size_t i = 0; i < given.pin_count; ++i)
    result.precision.pins.push_back({text(given.pins[i].pattern, "pattern of a pin"),
                                     parse_precision_type(text(given.pins[i].type, "type of a pin"))});
  result.precision.strict = given.strict != 0;
  result.precision.exact = given.exact != 0;
  check(std::isfinite(given.budget), ErrorCode::invalid_argument, "budget is {}: expected seconds",
        given.budget);
  if (given.budget != 0) result.budget = std::max(given.budget, 0.0);
  result.threads = given.threads;
  result.deterministic = given.deterministic != 0;
  result.retune = given.retune != 0;
  result.tune_at_run = given.tune_at_run != 0;
  check_reserved({given.reserved, given.reserved_2});
  result.limits = limits_of(given.limits);
  read_devices(given, result);
  result.shapes = ranges_of(given.shapes, given.shape_count, result.limits);
  if (given.profile_count > 0) required(given.profiles, "profiles");
  for (std::size_t i = 0; i < given.profile_count; ++i)
    result.profiles.push_back(
        ranges_of(given.profiles[i].shapes, given.profiles[i].shape_count, result.limits));
  read_callers(given, result);
  if (given.preprocess_count > 0) required(given.preprocess, "preprocess");
  for (std::size_t i = 0; i < given.preprocess_count; ++i)
    result.preprocess[text(given.preprocess[i].input, "input of a preprocess")] =
        preprocess_of(given.preprocess[i].preprocess);
  read_pictures(given, result);
  read_outputs(given, result);
  read_overridden(given, result);
  read_metadata(given, result);
  result.weight_budget = budget_of(given.weight_budget);
  if (given.environment) result.environment = given.environment->environment;
  result.control = control_of(given);
  return result;
}

LoadOptions options_of(const lanner_load_options* options) {
  const lanner_load_options given = read_options(options);
  check_reserved({given.reserved});
  LoadOptions result;
  result.threads = given.threads;
  result.tune_at_run = given.tune_at_run != 0;
  result.verify = given.verify != 0;
  result.limits = limits_of(given.limits);
  if (given.weights) {
    const std::filesystem::path path(given.weights);
    result.weights = open_path(path, result.limits);
    result.weights_folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  }
  result.weight_budget = budget_of(given.weight_budget);
  if (given.environment) result.environment = given.environment->environment;
  return result;
}

VerifyOptions options_of(const lanner_verify_options* options) {
  const lanner_verify_options given = read_options(options);
  check(given.reserved == 0, ErrorCode::unsupported, "reserved is {}: expected 0", given.reserved);
  VerifyOptions result;
  result.seed = given.seed;
  if (given.runs != 0) result.runs = given.runs;
  if (given.contexts != 0) result.contexts = given.contexts;
  result.threads = given.threads;
  for (const auto& [input, range] : ranges_of(given.shapes, given.shape_count, {}))
    result.shapes[input] = range.opt;
  if (given.reproducer) result.reproducer = given.reproducer;
  result.control = control_of(given);
  return result;
}

void require_right(const Verification& found) {
  if (!found.differences.empty()) {
    const NodeDifference& first = found.differences.front();
    fail(ErrorCode::internal, "node {} ({}) by {}:{} differs: {}", first.name, first.op, first.backend,
         first.kernel, first.reason);
  }
  check(found.right(), ErrorCode::internal, "the network as a whole: {}", found.network);
}

/// A source over a copy, aligned as plans want their weights.
SourcePtr copied(const void* bytes, std::size_t size, std::string_view name, const Limits& limits) {
  if (size > 0) required(static_cast<const std::byte*>(bytes), name);
  check(size <= limits.file_bytes, ErrorCode::limit_exceeded, "{} bytes given, expected at most {}", size,
        limits.file_bytes);
  Tensor copy = Tensor::allocate(DType::u8, Shape{static_cast<std::int64_t>(size)}, {}, {}, limits);
  if (size > 0) std::memcpy(copy.data(), bytes, size);
  return open_bytes({static_cast<const std::byte*>(copy.data()), size}, copy.owner());
}

template<typename Make>
lanner_status make_engine(lanner_engine** engine, lanner_error** error, Make&& make) noexcept {
  return guarded(error, [&] {
    required(engine, "engine") = nullptr;
    *engine = new lanner_engine{make()};
  });
}

lanner_status describe(const std::vector<Binding>* bindings, std::size_t index, lanner_binding* into,
                       lanner_error** error) noexcept {
  return guarded(error, [&] {
    required(into, "binding");
    required(bindings, "engine");
    check(index < bindings->size(), ErrorCode::invalid_argument, "number {}: the engine has {}", index,
          bindings->size());
    const Binding& binding = (*bindings)[index];
    write_struct(into, {0, binding.name.c_str(), static_cast<lanner_dtype>(binding.dtype), binding.sequence,
                        binding.ranked, binding.dims.size(), binding.dims.data(), binding.storage.c_str(),
                        binding.state, binding.overwritten, binding.picture.c_str(), binding.defaulted});
  });
}

} // namespace
} // namespace lanner::c

using namespace lanner;

lanner_status lanner_engine_build(const char* path, const lanner_build_options* options,
                                  lanner_engine** engine, lanner_error** error) noexcept {
  return c::make_engine(engine, error, [&] {
    return Engine::build(std::filesystem::path(c::text(path, "path")), c::options_of(options));
  });
}

lanner_status lanner_engine_build_bytes(const void* model, size_t bytes, const lanner_build_options* options,
                                        lanner_engine** engine, lanner_error** error) noexcept {
  return c::make_engine(engine, error, [&] {
    const BuildOptions wanted = c::options_of(options);
    return Engine::build(c::copied(model, bytes, "model", wanted.limits), wanted);
  });
}

lanner_status lanner_engine_load(const char* path, const lanner_load_options* options, lanner_engine** engine,
                                 lanner_error** error) noexcept {
  return c::make_engine(engine, error, [&] {
    return Engine::load(std::filesystem::path(c::text(path, "path")), c::options_of(options));
  });
}

lanner_status lanner_engine_load_bytes(const void* plan, size_t bytes, const lanner_load_options* options,
                                       lanner_engine** engine, lanner_error** error) noexcept {
  return c::make_engine(engine, error, [&] {
    const LoadOptions wanted = c::options_of(options);
    return Engine::load(c::copied(plan, bytes, "plan", wanted.limits), wanted);
  });
}

lanner_status lanner_engine_save(const lanner_engine* engine, const char* path,
                                 lanner_error** error) noexcept {
  return c::guarded(error, [&] { c::required(engine, "engine").engine.save(c::text(path, "path")); });
}

lanner_status lanner_engine_save_with(const lanner_engine* engine, const char* path,
                                      const lanner_save_options* options, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    const lanner_save_options given = c::read_options(options);
    c::check(given.reserved == 0, ErrorCode::unsupported, "reserved is {}: expected 0", given.reserved);
    c::required(engine, "engine")
        .engine.save(c::text(path, "path"), {.weights = given.strip_weights == 0, .control = {}});
  });
}

lanner_status lanner_engine_refit(const lanner_engine* engine, const char* const* names,
                                  DLManagedTensorVersioned* const* tensors, size_t count,
                                  lanner_engine** refitted, lanner_error** error) noexcept {
  return c::make_engine(refitted, error, [&] {
    if (count > 0) c::required(tensors, "tensors");
    std::vector<Tensor> taken;
    for (std::size_t i = 0; i < count; ++i) taken.push_back(from_dlpack(&c::required(tensors[i], "tensor")));
    if (count > 0) c::required(names, "names");
    std::map<std::string, Tensor> weights;
    for (std::size_t i = 0; i < count; ++i)
      c::check(weights.emplace(c::text(names[i], "name of a weight"), taken[i]).second,
               ErrorCode::invalid_argument, "weight '{}' is given twice", names[i]);
    return c::required(engine, "engine").engine.refit(weights);
  });
}

lanner_status lanner_engine_weight_memory(const lanner_engine* engine, lanner_weight_memory* memory,
                                          lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    const Engine& network = c::required(engine, "engine").engine;
    c::required(memory, "memory");
    c::write_struct(memory, {0, network.streamable_weights(), network.min_weight_budget(),
                             network.weight_budget().value_or(0)});
  });
}

lanner_status lanner_engine_set_weight_budget(const lanner_engine* engine, uint64_t bytes,
                                              lanner_error** error) noexcept {
  return c::guarded(error,
                    [&] { c::required(engine, "engine").engine.set_weight_budget(c::budget_of(bytes)); });
}

lanner_status lanner_engine_verify(const lanner_engine* engine, const lanner_verify_options* options,
                                   lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    const Engine& network = c::required(engine, "engine").engine;
    c::require_right(network.verify(c::options_of(options)));
  });
}

void lanner_engine_destroy(lanner_engine* engine) noexcept {
  delete engine;
}

size_t lanner_engine_input_count(const lanner_engine* engine) noexcept {
  return engine ? engine->engine.inputs().size() : 0;
}

size_t lanner_engine_output_count(const lanner_engine* engine) noexcept {
  return engine ? engine->engine.outputs().size() : 0;
}

lanner_status lanner_engine_input(const lanner_engine* engine, size_t index, lanner_binding* binding,
                                  lanner_error** error) noexcept {
  return c::describe(engine ? &engine->engine.inputs() : nullptr, index, binding, error);
}

lanner_status lanner_engine_output(const lanner_engine* engine, size_t index, lanner_binding* binding,
                                   lanner_error** error) noexcept {
  return c::describe(engine ? &engine->engine.outputs() : nullptr, index, binding, error);
}

size_t lanner_engine_overridable_count(const lanner_engine* engine) noexcept {
  return engine ? engine->engine.overridable().size() : 0;
}

lanner_status lanner_engine_overridable(const lanner_engine* engine, size_t index, lanner_binding* binding,
                                        lanner_error** error) noexcept {
  return c::describe(engine ? &engine->engine.overridable() : nullptr, index, binding, error);
}

const char* lanner_engine_metadata(const lanner_engine* engine, const char* key) noexcept {
  if (!engine || !key) return nullptr;
  for (const auto& [name, value] : engine->engine.metadata())
    if (name == key) return value.c_str();
  return nullptr;
}

size_t lanner_engine_metadata_count(const lanner_engine* engine) noexcept {
  return engine ? engine->engine.metadata().size() : 0;
}

lanner_status lanner_engine_metadata_entry(const lanner_engine* engine, size_t index, lanner_metadata* entry,
                                           lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    const auto& metadata = c::required(engine, "engine").engine.metadata();
    lanner_metadata& filled = c::required(entry, "entry");
    c::check(index < metadata.size(), ErrorCode::invalid_argument, "metadata number {}: there are {}, from 0",
             index, metadata.size());
    const auto found = std::next(metadata.begin(), static_cast<std::ptrdiff_t>(index));
    filled = {found->first.c_str(), found->second.c_str()};
  });
}
