#include "emulated_gpu/block_runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

// Saved stack pointer of a suspended fiber. ucontext makes a system call per switch, which would take more
// time than everything else in most kernels.
#if defined(__x86_64__)
extern "C" void lanner_switch_stacks(void** from, void* to);
__asm__(".text\n"
        ".type lanner_switch_stacks, @function\n"
        "lanner_switch_stacks:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size lanner_switch_stacks, . - lanner_switch_stacks\n");
#endif

namespace emulated {
namespace {

#if defined(__x86_64__)
class Point {
public:
  /// Prepares an empty stack that starts at `entry`.
  void prepare(char* stack, std::size_t bytes, void (*entry)()) {
    auto** top = reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(stack) + bytes) / 16 * 16 - 16);
    *top = reinterpret_cast<void*>(entry); // Stack alignment as after a call: a multiple of 16, plus 8.
    stack_ = top - 6;                      // Callee-saved registers.
  }
  static void go(Point& from, Point& to) { lanner_switch_stacks(&from.stack_, to.stack_); }

private:
  void* stack_ = nullptr;
};
#else
class Point {
public:
  void prepare(char* stack, std::size_t bytes, void (*entry)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
  }
  static void go(Point& from, Point& to) { swapcontext(&from.context_, &to.context_); }

private:
  ucontext_t context_;
};
#endif

constexpr std::size_t stack_bytes = 128 * 1024; // Only touched pages take memory.

struct Copy {
  void* to;
  const void* from;
  unsigned bytes, read;

  void run() const {
    memset(to, 0, bytes);
    if (read > 0) memcpy(to, from, read);
  }
};

/// A stack that runs threads one after another, until one waits: then the stack is that thread's own.
struct Fiber {
  Point point;
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
};

struct Copies {
  std::vector<Copy> current;            ///< Not yet in a group.
  std::deque<std::vector<Copy>> groups; ///< Oldest first.
};

class Runner final : public Device {
public:
  std::string run(const Launch& launch, const std::function<void()>& body);

  void wait(bool at_barrier) override {
    const unsigned own = running;
    barrier_[own] = at_barrier ? barriers : no_barrier;
    Point::go(fibers_[owner_[own]]->point, scheduler_);
  }
  void refuse(const char* what) override {
    if (wrong_.empty()) wrong_ = what;
  }
  void copy(void* to, const void* from, unsigned bytes, unsigned read) override {
    const Copy made{to, from, bytes, read};
    if (copies_at_once)
      made.run();
    else
      copies_[running].current.push_back(made);
  }
  void end_copies() override {
    Copies& own = copies_[running];
    own.groups.push_back(std::move(own.current));
    own.current.clear();
  }
  void wait_for_copies(unsigned rest) override {
    Copies& own = copies_[running];
    for (; own.groups.size() > rest; own.groups.pop_front())
      for (const Copy& made : own.groups.front()) made.run();
  }

  std::mutex mutex;

private:
  static constexpr unsigned no_barrier = ~0U;

  bool run_block(const std::function<void()>& body);
  void prepare_threads();
  void select(unsigned thread_number);
  unsigned idle_fiber();
  void resume(unsigned fiber) { Point::go(scheduler_, fibers_[fiber]->point); }
  void start(unsigned fiber) {
    starting_ = fiber;
    resume(fiber);
  }
  bool is_ready(unsigned number) const {
    return !threads[number].ended && (barrier_[number] != barriers || arrived >= left);
  }
  void run_warp(unsigned first);
  static void enter();
  void work(unsigned fiber);

  Point scheduler_;
  unsigned starting_ = 0;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<unsigned> idle_;
  unsigned owner_[most_threads] = {}; ///< The fiber of each thread that has started and not ended.
  Dim3 threads_[most_threads];
  unsigned barrier_[most_threads] = {}; ///< The barrier at which each waits.
  unsigned next_ = 0;                   ///< Number of threads started.
  Copies copies_[most_threads];
  const std::function<void()>* body_ = nullptr;
  bool reversed_ = false;
  std::string wrong_;
};

void Runner::select(unsigned number) {
  running = number;
  thread = threads_[number];
}

void Runner::enter() {
  auto& runner = static_cast<Runner&>(the_device());
  runner.work(runner.starting_);
}

/// Runs threads that have not started; the last of them may have waited meanwhile.
void Runner::work(unsigned fiber) {
  for (;;) {
    while (next_ < count) {
      const unsigned number = reversed_ ? count - 1 - next_ : next_;
      ++next_;
      owner_[number] = fiber;
      select(number);
      (*body_)();
      threads[running].ended = true;
      --left;
      moved = true;
    }
    idle_.push_back(fiber);
    Point::go(fibers_[fiber]->point, scheduler_);
  }
}

unsigned Runner::idle_fiber() {
  if (idle_.empty()) {
    const auto number = static_cast<unsigned>(fibers_.size());
    Fiber& made = *fibers_.emplace_back(std::make_unique<Fiber>());
    made.point.prepare(made.stack.get(), stack_bytes, &Runner::enter);
    idle_.push_back(number);
  }
  const unsigned fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void Runner::prepare_threads() {
  arrived = barriers = 0;
  next_ = 0;
  left = count;
  std::ranges::fill(exchanges, 0U);
  for (unsigned i = 0; i < count; ++i) {
    threads[i].ended = false;
    threads[i].exchanges = 0;
    copies_[i].current.clear();
    copies_[i].groups.clear();
  }
}

/// Runs until all of the warp's threads have ended, or wait for threads of other warps.
void Runner::run_warp(unsigned first) {
  const unsigned behind = std::min(first + warp, count);
  for (bool any = true; any;) {
    any = false;
    for (unsigned k = first; k < behind; ++k) {
      const unsigned i = reversed_ ? behind - 1 - (k - first) : k;
      if (!is_ready(i)) continue;
      const bool before = std::exchange(moved, false);
      select(i);
      resume(owner_[i]);
      any = any || moved;
      moved = moved || before;
    }
  }
}

/// False on a deadlock: the threads are abandoned with their stacks.
bool Runner::run_block(const std::function<void()>& body) {
  body_ = &body;
  prepare_threads();
  moved = false;
  while (next_ < count) start(idle_fiber());
  while (left > 0) {
    moved = false;
    const unsigned warps = (count + warp - 1) / warp;
    for (unsigned k = 0; k < warps; ++k) run_warp((reversed_ ? warps - 1 - k : k) * warp);
    if (left > 0 && !moved) {
      fibers_.clear();
      idle_.clear();
      return false;
    }
  }
  return true;
}

std::string Runner::run(const Launch& launch, const std::function<void()>& body) {
  count = launch.threads.x * launch.threads.y * launch.threads.z;
  if (count == 0 || count > most_threads) return "a block with too many threads, or none";
  if (launch.shared_bytes > most_shared) return "too much shared memory";
  block_size = launch.threads;
  grid_size = launch.blocks;
  reversed_ = launch.reversed;
  copies_at_once = launch.copies_at_once;
  wrong_.clear();
  for (unsigned i = 0; i < count; ++i)
    threads_[i] = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
  const std::size_t blocks = std::size_t{launch.blocks.x} * launch.blocks.y * launch.blocks.z;
  for (std::size_t k = 0; k < blocks; ++k) {
    const std::size_t number = reversed_ ? blocks - 1 - k : k;
    block = {static_cast<unsigned>(number % grid_size.x),
             static_cast<unsigned>(number / grid_size.x % grid_size.y),
             static_cast<unsigned>(number / grid_size.x / grid_size.y)};
    if (launch.shared) memset(launch.shared, 0xff, launch.shared_bytes);
    if (!run_block(body)) return wrong_.empty() ? "deadlock: threads wait for each other" : wrong_;
  }
  return wrong_;
}

} // namespace

Device& the_device() {
  static auto* one = new Runner;
  return *one;
}

std::string run_blocks(const Launch& launch, const std::function<void()>& thread) {
  Runner& runner = static_cast<Runner&>(the_device());
  const std::lock_guard lock(runner.mutex);
  return runner.run(launch, thread);
}

} // namespace emulated
