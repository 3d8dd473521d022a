// Engines of the C interface.

#include <exception>
#include <initializer_list>
#include <optional>

#include <lanner/dlpack.h>
#include <lanner/dlpack_structs.h>
#include <lanner/option_table.h>

#include "boundary.h"
#include "check.h"
#include "handles.h"

namespace lanner::c {
namespace {

void check_reserved(std::initializer_list<std::int32_t> given) {
  for (const std::int32_t reserved : given)
    check(reserved == 0, ErrorCode::unsupported, "reserved is {}: expected 0", reserved);
}

BuildOptions options_of(const lanner_build_options* options) {
  const lanner_build_options given = read_options(options);
  check_reserved({given.reserved, given.reserved_2});
  BuildOptions result;
  take_options(build_option_table(), given, result);
  return result;
}

LoadOptions options_of(const lanner_load_options* options) {
  const lanner_load_options given = read_options(options);
  check_reserved({given.reserved});
  LoadOptions result;
  take_options(load_option_table(), given, result);
  return result;
}

VerifyOptions options_of(const lanner_verify_options* options) {
  const lanner_verify_options given = read_options(options);
  check_reserved({given.reserved});
  VerifyOptions result;
  take_options(verify_option_table(), given, result);
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

/// Takes all tensors before it throws what is wrong with the first, since they are owned also on failure.
std::vector<Tensor> all_taken(DLManagedTensorVersioned* const* tensors, std::size_t count) {
  if (count > 0) required(tensors, "tensors");
  std::vector<Tensor> taken;
  std::exception_ptr wrong;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      taken.push_back(from_dlpack(&required(tensors[i], "tensor")));
    } catch (...) {
      if (!wrong) wrong = std::current_exception();
    }
  }
  if (wrong) std::rethrow_exception(wrong);
  return taken;
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
                        binding.state, binding.overwritten, binding.image.c_str(), binding.defaulted});
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
  return c::guarded(error, [&] {
    if (refitted) *refitted = nullptr;
    const std::vector<Tensor> taken = c::all_taken(tensors, count);
    c::required(refitted, "engine");
    if (count > 0) c::required(names, "names");
    std::map<std::string, Tensor> weights;
    for (std::size_t i = 0; i < count; ++i)
      c::check(weights.emplace(c::text(names[i], "name of a weight"), taken[i]).second,
               ErrorCode::invalid_argument, "weight '{}' is given twice", names[i]);
    *refitted = new lanner_engine{c::required(engine, "engine").engine.refit(weights)};
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
  return c::guarded(error, [&] {
    c::required(engine, "engine").engine.set_weight_budget(bytes > 0 ? std::optional(bytes) : std::nullopt);
  });
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
