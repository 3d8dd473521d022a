#pragma once
// cuDNN, cuBLASLt and NVRTC without a GPU, on the memory of the fake driver, which is the host's: they
// compute slowly what they are asked for, keep a record of calls and fail the one that a test asks for. Found
// by LANNER_LIBRARY_PATH under the names of the real ones.

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" {

/// Calls so far that may fail, and objects and handles that are not yet given back.
std::size_t fake_cudnn_calls();
long fake_cudnn_objects();
long fake_cudnn_handles();
/// How often engines were asked for by heuristics, and an engine was made ready, so far.
std::size_t fake_cudnn_searches();
std::size_t fake_cudnn_plans();
/// The `number`-th call from now on (1 is the next) gives `status`; 0 gives none.
void fake_cudnn_fail(std::size_t number, int status);
/// Graphs with more than this many operations are refused.
void fake_cudnn_limit_operations(std::size_t most);
/// Engines that its heuristics name for graphs of several operations, of 1 and 2; both before.
void fake_cudnn_name_for_steps(const std::vector<std::int64_t>& engines);
/// Engines that the heuristics name have this numerical note; -1 for none.
void fake_cudnn_set_note(int note);

std::size_t fake_cublaslt_calls();
long fake_cublaslt_objects();
void fake_cublaslt_fail(std::size_t number, int status);

/// Sources that were compiled so far.
std::size_t fake_nvrtc_compiles();
}
