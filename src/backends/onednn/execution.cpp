#include "backends/onednn/execution.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::onednn {

namespace {

// Note [Shares of oneDNN's regions]
// Based on the source of oneDNN 2.6 and 3.x: in inference the primitives below give each thread its part of
// the work once (`parallel_nd`, `balance211`), except Winograd's, which have barriers between their steps,
// and those built on the matrix product, whose threads spin on memory until others have packed or summed.
// Primitives not in this list get real threads; the first launch of each counts barriers, to find those that
// need none.
constexpr std::array kinds_that_do_not_wait{
    dnnl_convolution, dnnl_pooling,   dnnl_eltwise, dnnl_reorder,
    dnnl_concat,      dnnl_binary,    dnnl_softmax, dnnl_layer_normalization,
    dnnl_resampling,  dnnl_reduction, dnnl_sum,
};

bool may_run_in_any_order(const dnnl::primitive_desc_base& descriptor) {
  dnnl_primitive_kind_t kind{};
  const char* text = nullptr;
  if (dnnl_primitive_desc_query(descriptor.get(), dnnl_query_primitive_kind, 0, &kind) != dnnl_success ||
      dnnl_primitive_desc_query(descriptor.get(), dnnl_query_impl_info_str, 0, &text) != dnnl_success ||
      !text)
    return false;
  const std::string_view name(text);
  return std::ranges::count(kinds_that_do_not_wait, kind) > 0 && name.find("wino") == name.npos &&
         name.find("gemm") == name.npos;
}

// Note [Memory of oneDNN's code]
// oneDNN writes each kernel's code into pages of its own: 256 KiB of address space, partly touched. Its
// assembler is compiled without exceptions: when the system refuses these pages it continues and writes to
// address 0. So we check that memory can be mapped before calling it, more than any primitive takes (a
// convolution by windows of 63 x 63: 17.5 MiB), and only one thread at a time calls it.
//
// Code and tables take between 4 KiB (a reorder) and 8 MiB (a convolution of bf16 by AMX). They are measured
// by the pages that the thread touched first while creating them, which the system counts per thread.
constexpr std::size_t room_for_code = std::size_t{32} << 20;
constexpr std::uint64_t least_code = std::uint64_t{16} << 10;

void check_room_for_code() {
  void* room = ::mmap(nullptr, room_for_code, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(room != MAP_FAILED, ErrorCode::out_of_memory,
        "onednn: memory was refused by the system: {} MiB for kernel code; raise the limit on the "
        "address space (ulimit -v)",
        room_for_code >> 20);
  ::munmap(room, room_for_code);
}

std::mutex& code_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Bytes of pages that the calling thread touched first (page faults).
std::uint64_t touched_bytes() {
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_minflt) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

/// The memory objects of one launch: views that get new pointers each time.
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
    : code_(current_account()), arguments_(std::move(arguments)), threads_(threads) {
  const ThreadCount count(threads);
  if (may_run_in_any_order(descriptor)) waits_ = Waits::perhaps;
  code_.add(least_code);
  try {
    make(descriptor);
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

void Execution::make(const dnnl::primitive_desc_base& descriptor) {
  const std::lock_guard making(code_mutex());
  check_room_for_code();
  const std::uint64_t before = touched_bytes();
  primitive_ = dnnl::primitive(descriptor.get());
  code_.set(std::max(touched_bytes() - before, least_code));
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
      static_cast<void>(set.release()); // the pool owns it now
      return;
    }
  }
}

Shares Execution::shares() const {
  return waits_.load(std::memory_order_relaxed) == Waits::never ? Shares::free : Shares::apart;
}

/// Learns from a launch on real threads whether the primitive uses barriers.
void Execution::learn(Shares run, unsigned barriers_before) const {
  if (run == Shares::free || waits_.load(std::memory_order_relaxed) != Waits::perhaps) return;
  const bool waited = team_barriers() != barriers_before;
  waits_.store(waited ? Waits::surely : Waits::never, std::memory_order_relaxed);
}

std::vector<std::span<const std::byte>> Execution::own_weights() const {
  std::vector<std::span<const std::byte>> all;
  for (const Argument& argument : arguments_)
    if (argument.from == Argument::From::owned)
      all.emplace_back(static_cast<const std::byte*>(argument.tensor.data()), argument.tensor.bytes());
  return all;
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
  const Shares kind = shares();
  const ThreadCount count(threads_, kind);
  const unsigned barriers = team_barriers();
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    set->memories[i].set_data_handle(pointer(arguments_[i]));
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), set->stream.get(), static_cast<int>(set->executed.size()), set->executed.data());
  release(std::move(set));
  learn(kind, barriers);
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
