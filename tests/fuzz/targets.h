#pragma once
// Readers of untrusted bytes. Each is fuzzed (`./dev fuzz NAME`), and every test run replays its corpus.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <lanner/limits.h>

namespace lanner::fuzz {

/// Reads `input` as untrusted data. An Error of any code but `internal` is a valid answer; any other
/// exception, and any sanitizer report, is a fault.
using Run = void (*)(std::span<const std::byte> input);

struct Target {
  std::string_view name; ///< Also the name of the corpus folder and the stem of the file `NAME_target.cpp`.
  Run run;
};

std::span<const Target> targets();

/// Calls the target of that name.
void run(std::string_view name, std::span<const std::byte> input);

/// Limits for untrusted input on a small machine.
Limits small_limits();

/// How many plans of read_plan() reached each stage; for one thread.
struct PlanCounts {
  std::uint64_t plans = 0;
  std::uint64_t parsed = 0; ///< With a valid digest, and texts and tables that could be parsed.
  std::uint64_t loaded = 0, ran = 0;
};
PlanCounts& plan_counts();

inline std::string_view as_text(std::span<const std::byte> input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

// One for each file `*_target.cpp`.
void read_onnx(std::span<const std::byte> input);
void read_ir(std::span<const std::byte> input);
void read_plan(std::span<const std::byte> input);
void read_safetensors(std::span<const std::byte> input);
void read_regex(std::span<const std::byte> input);
void read_bitstream(std::span<const std::byte> input);
void read_elementary_stream(std::span<const std::byte> input);
void read_index(std::span<const std::byte> input);
void read_saved_model(std::span<const std::byte> input);
void read_tensorflow(std::span<const std::byte> input);
void read_caffe(std::span<const std::byte> input);
void read_task(std::span<const std::byte> input);
void read_truth(std::span<const std::byte> input);
void read_cache(std::span<const std::byte> input);
void read_clip(std::span<const std::byte> input);
void read_audio(std::span<const std::byte> input);
void read_picture(std::span<const std::byte> input);
void read_labels(std::span<const std::byte> input);
void read_settings(std::span<const std::byte> input);
void read_calibration(std::span<const std::byte> input);
void read_bundle(std::span<const std::byte> input);
void read_tfrecord(std::span<const std::byte> input);

} // namespace lanner::fuzz
