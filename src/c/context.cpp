// Contexts of the C interface.

#include <lanner/dlpack.h>
#include <lanner/dlpack_structs.h>
#include <lanner/option_table.h>
#include <lanner/threads.h>

#include "boundary.h"
#include "check.h"
#include "handles.h"

namespace lanner::c {
namespace {

/// Sequences have no representation in the C interface.
void check_no_sequence(const std::vector<Binding>& bindings, std::string_view name) {
  for (const Binding& binding : bindings)
    check(binding.name != name || !binding.sequence, ErrorCode::unsupported,
          "{} is a sequence or optional, which the C interface does not support", binding.to_string());
}

/// Memory to write results into: a tensor that had to be copied would lose them.
Tensor writable(DLManagedTensorVersioned* managed, std::string_view output) {
  const bool read_only = managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
  const auto* first = static_cast<const std::byte*>(managed->dl_tensor.data) + managed->dl_tensor.byte_offset;
  Tensor memory = from_dlpack(managed);
  check(!read_only, ErrorCode::invalid_argument, "output {}: the memory bound may only be read", output);
  check(memory.data() == first, ErrorCode::invalid_argument,
        "output {}: the memory bound has gaps or is not aligned; expected a row-major tensor", output);
  return memory;
}

} // namespace
} // namespace lanner::c

using namespace lanner;
using c::check;

lanner_status lanner_context_create(const lanner_engine* engine, const lanner_context_options* options,
                                    lanner_context** context, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(context, "context") = nullptr;
    const lanner_context_options given = c::read_options(options);
    check(given.reserved == 0, ErrorCode::unsupported, "reserved is {}: expected 0", given.reserved);
    const Engine& shared = c::required(engine, "engine").engine;
    ContextOptions wanted;
    take_options(context_option_table(), given, wanted);
    *context = new lanner_context{shared, shared.create_context(wanted)};
  });
}

lanner_status lanner_context_bind(lanner_context* context, const char* input,
                                  DLManagedTensorVersioned* tensor, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    Tensor taken = from_dlpack(&c::required(tensor, "tensor"));
    lanner_context& own = c::required(context, "context");
    const std::string name = c::text(input, "input");
    c::check_no_sequence(own.engine.inputs(), name);
    own.context.bind(name, Item(std::move(taken)));
  });
}

lanner_status lanner_context_bind_images(lanner_context* context, const char* input,
                                         const lanner_image* const* images, size_t count,
                                         const char* preprocess, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    lanner_context& own = c::required(context, "context");
    const std::string name = c::text(input, "input");
    if (count > 0) c::required(images, "images");
    std::vector<Image> pictures;
    for (std::size_t i = 0; i < count; ++i)
      pictures.push_back(c::required(images[i], fmt::format("images[{}]", i)).image);
    const Preprocess spec = preprocess ? parse_preprocess(preprocess) : Preprocess();
    own.context.bind(name, pictures, preprocess ? &spec : nullptr);
  });
}

lanner_status lanner_context_bind_output(lanner_context* context, const char* output,
                                         DLManagedTensorVersioned* tensor, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    Tensor memory;
    if (tensor) memory = c::writable(tensor, output ? output : "null");
    lanner_context& own = c::required(context, "context");
    const std::string name = c::text(output, "output");
    c::check_no_sequence(own.engine.outputs(), name);
    own.context.bind_output(name, std::move(memory));
  });
}

lanner_status lanner_context_run(lanner_context* context, lanner_error** error) noexcept {
  return c::guarded(error, [&] { c::required(context, "context").context.run(); });
}

lanner_status lanner_context_output(lanner_context* context, const char* output,
                                    DLManagedTensorVersioned** tensor, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(tensor, "tensor") = nullptr;
    lanner_context& own = c::required(context, "context");
    const std::string name = c::text(output, "output");
    c::check_no_sequence(own.engine.outputs(), name);
    const Tensor result = own.context.output(name).tensor;
    *tensor = to_dlpack_versioned(result.layout().blocks.empty() ? result : result.clone());
  });
}

lanner_status lanner_context_reset_states(lanner_context* context, lanner_error** error) noexcept {
  return c::guarded(error, [&] { c::required(context, "context").context.reset_states(); });
}

lanner_status lanner_context_state(lanner_context* context, const char* input,
                                   DLManagedTensorVersioned** tensor, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(tensor, "tensor") = nullptr;
    const Item value = c::required(context, "context").context.state(c::text(input, "input"));
    if (value.tensor.defined()) *tensor = to_dlpack_versioned(value.tensor);
  });
}

void lanner_context_destroy(lanner_context* context) noexcept {
  delete context;
}

lanner_status lanner_context_run_with(lanner_context* context, const lanner_run_options* options,
                                      lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    Context& own = c::required(context, "context").context;
    const lanner_run_options given = c::read_options(options);
    check(given.reserved == 0, ErrorCode::unsupported, "reserved is {}: expected 0", given.reserved);
    Executor executor;
    RunResources resources;
    if (given.executor) {
      executor = {given.executor->user, given.executor->run};
      resources.executor = &executor;
    }
    resources.allocator = given.allocator;
    if (given.enqueue != 0) return own.enqueue({given.stream}, {}, resources);
    own.run({given.stream}, {}, resources);
  });
}
