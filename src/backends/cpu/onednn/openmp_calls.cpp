#include "backends/cpu/onednn/openmp_calls.h"

#include <dlfcn.h>

#include <atomic>

#include "backends/cpu/onednn/library.h"
#include "device/team.h"

namespace lanner::onednn {

namespace {

thread_local int thread_count = 1;
std::atomic<bool> called{false};

using SetThreads = void (*)(int);
/// libgomp's own setting, for an oneDNN that calls it.
SetThreads gomp_set_threads() {
  static const SetThreads function = [] {
    void* library = ::dlopen("libgomp.so.1", RTLD_NOLOAD | RTLD_LAZY);
    return reinterpret_cast<SetThreads>(library ? ::dlsym(library, "omp_set_num_threads") : nullptr);
  }();
  return function;
}

void set_threads(int threads) noexcept {
  thread_count = threads;
  if (!called.load(std::memory_order_relaxed) && gomp_set_threads()) gomp_set_threads()(threads);
}

} // namespace

ThreadCount::ThreadCount(int threads) noexcept : before_(thread_count) {
  set_threads(threads);
}
ThreadCount::~ThreadCount() {
  set_threads(before_);
}

bool serves_onednn() {
  static const bool served = [] {
    const ThreadCount two(2);
    constexpr std::int64_t elements = 1 << 16; // Enough that oneDNN shares it out.
    const Desc desc = *describe(Shape{elements}, {}, DType::f32);
    const dnnl::reorder::primitive_desc descriptor(engine(), desc, engine(), desc);
    dnnl::memory from(desc, engine()), to(desc, engine());
    dnnl::stream stream(engine());
    dnnl::reorder(descriptor).execute(stream, from, to);
    return called.load();
  }();
  return served;
}

} // namespace lanner::onednn

// The functions of libgomp (its ABI is fixed by what GCC compiles `#pragma omp parallel` and `barrier` to)
// and of the OpenMP specification that libdnnl imports.
extern "C" {

void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  lanner::onednn::called.store(true, std::memory_order_relaxed);
  lanner::run_team(threads == 0 ? lanner::onednn::thread_count : static_cast<int>(threads), function, data);
}
void GOMP_barrier() {
  lanner::team_barrier();
}
int omp_get_max_threads() {
  return lanner::onednn::thread_count;
}
int omp_get_num_threads() {
  return lanner::team_place().size;
}
int omp_get_thread_num() {
  return lanner::team_place().number;
}
int omp_in_parallel() {
  return lanner::team_place().inside;
}

} // extern "C"
