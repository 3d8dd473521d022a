#pragma once
// A CUDA driver without a GPU: memory is the host's, work is done when it is queued. Every kernel is
// computed: those of .cu files as the host's compiler made them, those whose source NVRTC would compile once
// it has compiled them too (emulated_gpu/). It keeps a record of calls and fails the one that a test asks
// for. Opened as LANNER_CUDA_DRIVER. It lists LANNER_FAKE_GPUS devices, else one, and refuses what takes an
// object or the memory of one to another: work for a stream that is not of the current context, events of
// other devices, kernels and copies that reach for another device's memory.

#include <cstddef>
#include <functional>

extern "C" {

/// Calls so far that may fail, all threads together.
std::size_t fake_cuda_calls();
/// The `number`-th call from now on (1 is the next) gives `status`; 0 gives none.
void fake_cuda_fail(std::size_t number, int status);
/// Names of the calls since the last fake_cuda_forget(), one a line. Valid until the next call of this
/// function.
const char* fake_cuda_log();
void fake_cuda_forget();
/// What is not yet given back: blocks of memory, pinned ones too; streams, events, graphs and recorded
/// graphs.
std::size_t fake_cuda_memory();
std::size_t fake_cuda_objects();
/// Bytes of the device that were taken at most at a time since the last call of this, those taken before it
/// included.
std::size_t fake_cuda_most_device_bytes();
/// Contexts that the calling thread has pushed and not popped.
int fake_cuda_contexts();
/// Bytes that memory allocations may take in all; more is refused as a GPU refuses it.
void fake_cuda_limit(std::size_t bytes);
/// Queues `work` as a kernel's launch is queued: it is done now, or, while `stream` records, by each launch
/// of the graph. Gives the driver's status.
int fake_cuda_queue(void* stream, const std::function<void()>& work);
/// The same of a kernel with these pointers.
int fake_cuda_queue_at(void* stream, const void* const* pointers, std::size_t count,
                       const std::function<void()>& work);
/// From now on work is done only when somebody waits for it, in an order that `seed` decides among those that
/// streams, events and recorded graphs allow. 0: it is done as it is queued again.
void fake_cuda_defer(unsigned seed);
/// Streams wait for no events: what would be wrong without them then is.
void fake_cuda_ignore_waits(bool ignored);
/// What each work of fake_cuda_queue() takes of its stream, as events tell it.
void fake_cuda_kernel_seconds(double seconds);
/// The last block of a grid runs first, and the last thread of a block: what needs an order that no barrier
/// makes gives something else then.
void fake_cuda_reverse_threads(bool reversed);
}
