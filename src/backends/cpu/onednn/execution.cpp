#include "backends/cpu/onednn/execution.h"

#include <lanner/error.h>

namespace lanner::onednn {

/// One launch's memory objects: views without buffers that get their pointers anew each time.
struct Execution::MemorySet {
  explicit MemorySet(const std::vector<Argument>& arguments) : stream(engine()) {
    for (const Argument& argument : arguments) {
      memories.emplace_back(argument.desc, engine(), static_cast<void*>(nullptr));
      executed.push_back({argument.id, memories.back().get()});
    }
  }
  dnnl::stream stream;
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> executed;
};

Execution::Execution(const dnnl::primitive_desc_base& descriptor, std::vector<Argument> arguments,
                     int threads)
    : arguments_(std::move(arguments)), threads_(threads) {
  const ThreadCount count(threads);
  try {
    primitive_ = dnnl::primitive(descriptor.get());
    const Desc scratchpad = descriptor.scratchpad_desc();
    workspace_ = scratchpad.get_size();
    if (workspace_ != 0)
      arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, Argument::From::workspace, 0, {}});
    for (Argument& argument : arguments_)
      if (argument.from != Argument::From::output && is_padded(argument.desc))
        argument.desc = describe_bytes(argument.desc.get_size());
    release(std::make_unique<MemorySet>(arguments_));
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    fail(ErrorCode::device, "onednn: {}", error.message);
  }
}

Execution::~Execution() {
  for (auto& slot : pool_) delete slot.load();
}

std::unique_ptr<Execution::MemorySet> Execution::acquire() const {
  for (auto& slot : pool_)
    if (slot.load(std::memory_order_relaxed))
      if (MemorySet* set = slot.exchange(nullptr, std::memory_order_acquire))
        return std::unique_ptr<MemorySet>(set);
  return std::make_unique<MemorySet>(arguments_);
}

void Execution::release(std::unique_ptr<MemorySet> set) const {
  for (auto& slot : pool_) {
    MemorySet* empty = nullptr;
    if (slot.compare_exchange_strong(empty, set.get(), std::memory_order_release,
                                     std::memory_order_relaxed)) {
      static_cast<void>(set.release()); // The pool's now.
      return;
    }
  }
}

void Execution::launch(const Launch& launch) const {
  const auto pointer = [&](const Argument& argument) -> void* {
    switch (argument.from) {
    case Argument::From::input:
      return const_cast<void*>(launch.inputs[argument.index]);
    case Argument::From::output:
      return launch.outputs[argument.index];
    case Argument::From::workspace:
      return launch.workspace;
    case Argument::From::owned:
      return const_cast<void*>(argument.tensor.data());
    }
    return nullptr;
  };
  std::unique_ptr<MemorySet> set = acquire();
  const ThreadCount count(threads_);
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    set->memories[i].set_data_handle(pointer(arguments_[i]));
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), set->stream.get(), static_cast<int>(set->executed.size()), set->executed.data());
  release(std::move(set));
  check(status == dnnl_success, ErrorCode::device, "onednn: a primitive failed with status {}",
        static_cast<int>(status));
}

Argument argument(int id, const Desc& desc, const Operand& operand) {
  if (operand.from == Operand::From::constant) return {id, desc, Argument::From::owned, 0, *operand.constant};
  check(operand.is_input(), ErrorCode::internal, "onednn: an argument is neither an input nor a constant");
  return {id, desc, Argument::From::input, operand.index, {}};
}

Argument output_argument(int id, const Desc& desc, std::size_t index) {
  return {id, desc, Argument::From::output, index, {}};
}

} // namespace lanner::onednn
