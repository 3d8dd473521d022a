#include "backends/onednn/openmp_calls.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <string_view>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <dnnl.h>
#include <fmt/format.h>

#include <lanner/error.h>

#include "backends/onednn/imports.h"
#include "base/check.h"
#include "device/team.h"

// The functions of libgomp (its ABI is fixed by what GCC compiles `#pragma omp parallel` and `barrier` to)
// and of the OpenMP specification that libdnnl imports.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
void omp_set_num_threads(int threads);
}

namespace lanner::onednn {

namespace {

thread_local int thread_count = 1;
thread_local Shares share_kind = Shares::apart;
thread_local InvalidWatch* invalid_watch = nullptr;

/// Reads and sets the invalid-operation flag.
#if defined(__SSE2__)
// SSE state only: std::feclearexcept also writes the x87 state, which is slow.
bool is_invalid() {
  return (_mm_getcsr() & _MM_EXCEPT_INVALID) != 0;
}
void set_invalid(bool raised) {
  const unsigned others = _mm_getcsr() & ~static_cast<unsigned>(_MM_EXCEPT_INVALID);
  _mm_setcsr(others | (raised ? _MM_EXCEPT_INVALID : 0U));
}
#else
bool is_invalid() {
  return std::fetestexcept(FE_INVALID) != 0;
}
void set_invalid(bool raised) {
  std::feclearexcept(FE_INVALID);
  if (raised) std::feraiseexcept(FE_INVALID);
}
#endif

struct Function {
  std::string_view name;
  const void* own;
};
const std::array<Function, 7> functions{{
    {"GOMP_parallel", reinterpret_cast<const void*>(&GOMP_parallel)},
    {"GOMP_barrier", reinterpret_cast<const void*>(&GOMP_barrier)},
    {"omp_get_max_threads", reinterpret_cast<const void*>(&omp_get_max_threads)},
    {"omp_get_num_threads", reinterpret_cast<const void*>(&omp_get_num_threads)},
    {"omp_get_thread_num", reinterpret_cast<const void*>(&omp_get_thread_num)},
    {"omp_in_parallel", reinterpret_cast<const void*>(&omp_in_parallel)},
    {"omp_set_num_threads", reinterpret_cast<const void*>(&omp_set_num_threads)},
}};

/// The functions of libgomp: all are used, or none.
struct Gomp {
  decltype(&GOMP_parallel) parallel = nullptr;
  decltype(&GOMP_barrier) barrier = nullptr;
  decltype(&omp_get_max_threads) get_max_threads = nullptr, get_num_threads = nullptr,
                                 get_thread_num = nullptr, in_parallel = nullptr;
  decltype(&omp_set_num_threads) set_num_threads = nullptr;
  unsigned forks = forks_seen();

  explicit Gomp(void* library) {
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      complete = complete && function;
    };
    find(parallel, "GOMP_parallel");
    find(barrier, "GOMP_barrier");
    find(get_max_threads, "omp_get_max_threads");
    find(get_num_threads, "omp_get_num_threads");
    find(get_thread_num, "omp_get_thread_num");
    find(in_parallel, "omp_in_parallel");
    find(set_num_threads, "omp_set_num_threads");
  }
  bool complete = true;
};

/// Null while oneDNN's loops run on Lanner's threads. Set once, before oneDNN is called.
const Gomp* gomp = nullptr;

/// Why libgomp must be used; empty when it need not.
std::string reason_for_gomp() {
  bool parallel = false;
  for (const Import& import :
       imports_of(reinterpret_cast<const void*>(&dnnl_version), {"GOMP_", "omp_", "__kmpc"})) {
    const auto* function = std::ranges::find(functions, import.name, &Function::name);
    if (function == functions.end())
      return fmt::format("this libdnnl calls {}, which Lanner does not provide", import.name);
    if (import.bound != function->own)
      return "libdnnl was loaded before Lanner, or the program's own OpenMP takes precedence";
    parallel = parallel || import.name == "GOMP_parallel";
  }
  return parallel ? std::string() : "this libdnnl does not use GCC's OpenMP";
}

/// A region's function, the thread count that its threads see, and the watch over it, if any.
struct Region {
  void (*function)(void*);
  void* data;
  int thread_count;
  InvalidWatch* watch;

  void run() const {
    const int before = std::exchange(lanner::onednn::thread_count, thread_count);
    const bool invalid_before = is_invalid();
    if (watch) set_invalid(false);
    function(data);
    if (watch && is_invalid()) watch->note();
    if (watch) set_invalid(invalid_before);
    lanner::onednn::thread_count = before;
  }
  static void run(void* region) { static_cast<const Region*>(region)->run(); }
};

} // namespace

ThreadCount::ThreadCount(int threads, Shares shares)
    : before_(gomp ? gomp->get_max_threads() : thread_count),
      shares_before_(std::exchange(share_kind, shares)) {
  if (!gomp) {
    check(reserve_team(threads), ErrorCode::unsupported,
          "onednn: the system does not give this process {} threads: use fewer", threads);
    thread_count = threads;
    return;
  }
  // libgomp waits for ever for threads that a forked child does not have.
  check(threads <= 1 || gomp->forks == forks_seen(), ErrorCode::unsupported,
        "onednn: this process was forked from one with OpenMP threads, which it does not have: start it by "
        "spawn, or use one "
        "thread");
  if (threads != before_) gomp->set_num_threads(threads);
}

ThreadCount::~ThreadCount() {
  share_kind = shares_before_;
  if (!gomp)
    thread_count = before_;
  else if (gomp->get_max_threads() != before_)
    gomp->set_num_threads(before_);
}

InvalidWatch::InvalidWatch() : raised_before_(is_invalid()), outer_(std::exchange(invalid_watch, this)) {
  set_invalid(false);
}

InvalidWatch::~InvalidWatch() {
  invalid_watch = outer_;
  set_invalid(raised_before_);
}

bool InvalidWatch::seen() const {
  return seen_.load(std::memory_order_relaxed) || is_invalid();
}

std::string bind_openmp() {
  std::string reason = reason_for_gomp();
  if (reason.empty()) return reason;
  if (void* library = ::dlopen("libgomp.so.1", RTLD_NOLOAD | RTLD_NOW)) {
    static const Gomp found(library);
    if (found.complete) gomp = &found;
  }
  return reason;
}

} // namespace lanner::onednn

void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags) {
  using namespace lanner::onednn;
  Region region{function, data, thread_count, invalid_watch};
  if (gomp) return gomp->parallel(&Region::run, &region, threads, flags);
  lanner::run_team(threads == 0 ? thread_count : static_cast<int>(threads), share_kind, &Region::run,
                   &region);
}

void GOMP_barrier() {
  if (lanner::onednn::gomp) return lanner::onednn::gomp->barrier();
  lanner::team_barrier();
}

int omp_get_max_threads() {
  return lanner::onednn::gomp ? lanner::onednn::gomp->get_max_threads() : lanner::onednn::thread_count;
}

int omp_get_num_threads() {
  return lanner::onednn::gomp ? lanner::onednn::gomp->get_num_threads() : lanner::team_share().size;
}

int omp_get_thread_num() {
  return lanner::onednn::gomp ? lanner::onednn::gomp->get_thread_num() : lanner::team_share().number;
}

int omp_in_parallel() {
  return lanner::onednn::gomp ? lanner::onednn::gomp->in_parallel() : lanner::team_share().inside;
}

void omp_set_num_threads(int threads) {
  if (lanner::onednn::gomp) return lanner::onednn::gomp->set_num_threads(threads);
  lanner::onednn::thread_count = threads < 1 ? 1 : threads;
}
