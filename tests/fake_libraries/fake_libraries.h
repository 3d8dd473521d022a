#pragma once
// cuDNN, cuBLASLt and NVRTC without a GPU, on the fake driver's memory, which is the host's: they compute
// slowly, record calls and fail the one that a test selects. Found by LANNER_LIBRARY_PATH under the names of
// the real ones.

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" {

/// Calls so far that may fail, and objects and handles not yet freed.
std::size_t fake_cudnn_calls();
long fake_cudnn_objects();
long fake_cudnn_handles();
/// Number of heuristics queries, and of finalized engine plans, so far.
std::size_t fake_cudnn_searches();
std::size_t fake_cudnn_plans();
/// The `number`-th call from now on (1 is the next) returns `status`; 0 disables this.
void fake_cudnn_fail(std::size_t number, int status);
/// Graphs with more than this many operations are refused.
void fake_cudnn_limit_operations(std::size_t most);
/// Engines that its heuristics name for graphs of several operations, out of 1 and 2; by default both.
void fake_cudnn_name_for_steps(const std::vector<std::int64_t>& engines);
/// Numerical note of the engines that the heuristics name; -1 for none.
void fake_cudnn_set_note(int note);

std::size_t fake_cublaslt_calls();
long fake_cublaslt_objects();
void fake_cublaslt_fail(std::size_t number, int status);

/// Number of sources compiled so far.
std::size_t fake_nvrtc_compiles();
}
