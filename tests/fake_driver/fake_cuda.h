#pragma once
// A CUDA driver without a GPU: device memory is host memory, and work is done when it is queued. Every kernel
// is computed: those of .cu files as compiled by the host's compiler, and NVRTC sources once they are
// compiled the same way (emulated_gpu/). It records calls and fails the one that a test selects. Opened as
// LANNER_CUDA_DRIVER. It is of the CUDA version LANNER_FAKE_DRIVER_VERSION, by default 13000 for 13.0. It
// lists LANNER_FAKE_GPUS devices, by default one, and refuses to mix objects or memory of different devices:
// work for a stream that is not of the current context, events of other devices, kernels and copies that
// access another device's memory.

#include <cstddef>
#include <functional>

extern "C" {

/// Number of calls so far that may fail, over all threads.
std::size_t fake_cuda_calls();
/// The `number`-th call from now on (1 is the next) returns `status`; 0 disables this.
void fake_cuda_fail(std::size_t number, int status);
/// Names of the calls since the last fake_cuda_forget(), one per line. Valid until the next call of this
/// function.
const char* fake_cuda_log();
void fake_cuda_forget();
/// Leaks: memory blocks not yet freed, including pinned ones; streams, events, graphs and recorded graphs.
std::size_t fake_cuda_memory();
std::size_t fake_cuda_objects();
/// Peak bytes of device memory since the last call of this function, including memory allocated before.
std::size_t fake_cuda_most_device_bytes();
/// Bytes from `pointer` to the end of the memory that it leads into; 0 where that is none of the device of
/// `context`.
std::size_t fake_cuda_bytes_at(const void* pointer, void* context);
/// Contexts that the calling thread has pushed and not popped.
int fake_cuda_contexts();
/// Total memory of the GPU; allocations beyond it are refused as by a real GPU.
void fake_cuda_limit(std::size_t bytes);
/// Queues `work` like a kernel launch: done now or, while `stream` records, at each launch of the graph.
/// Returns the driver's status.
int fake_cuda_queue(void* stream, const std::function<void()>& work);
/// The same for a kernel with these pointers.
int fake_cuda_queue_at(void* stream, const void* const* pointers, std::size_t count,
                       const std::function<void()>& work);
/// The edges of the last instantiated graph, one per line: the kernels' names, `-` for other work, joined by
/// `>`, or by `>>` where the second may start before the first has ended. Valid until the next call of this
/// function.
const char* fake_cuda_edges();
/// From now on work is deferred until somebody waits for it, and then done in a random order (by `seed`)
/// among those that streams, events and recorded graphs allow. 0: immediate again.
void fake_cuda_defer(unsigned seed);
/// Streams ignore events, to show what goes wrong without them.
void fake_cuda_ignore_waits(bool ignored);
/// The simulated duration of each fake_cuda_queue() work, as measured by events.
void fake_cuda_kernel_seconds(double seconds);
/// Blocks and threads run in reverse order: code that depends on an order that no barrier establishes gives
/// other results.
void fake_cuda_reverse_threads(bool reversed);
}
