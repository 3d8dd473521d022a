#include "fuzz/targets.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <lanner/error.h>

namespace lanner::fuzz {

std::span<const Target> targets() {
  static constexpr Target all[] = {
      {"audio", read_audio},
      {"bitstream", read_bitstream},
      {"bundle", read_bundle},
      {"cache", read_cache},
      {"caffe", read_caffe},
      {"calibration", read_calibration},
      {"clip", read_clip},
      {"elementary_stream", read_elementary_stream},
      {"index", read_index},
      {"ir", read_ir},
      {"labels", read_labels},
      {"onnx", read_onnx},
      {"picture", read_picture},
      {"plan", read_plan},
      {"regex", read_regex},
      {"safetensors", read_safetensors},
      {"settings", read_settings},
      {"task", read_task},
      {"saved_model", read_saved_model},
      {"tensorflow", read_tensorflow},
      {"tfrecord", read_tfrecord},
      {"truth", read_truth},
  };
  return all;
}

void run(std::string_view name, std::span<const std::byte> input) {
  const auto target = std::ranges::find(targets(), name, &Target::name);
  if (target == targets().end()) throw std::logic_error("no target " + std::string(name));
  try {
    target->run(input);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw std::logic_error(error.what());
  }
}

Limits small_limits() {
  Limits limits;
  limits.file_bytes = 1 << 20;
  limits.tensor_bytes = 1 << 22;
  limits.total_bytes = 1 << 24;
  limits.nodes = 4096;
  limits.seconds = 5;
  return limits;
}

} // namespace lanner::fuzz
