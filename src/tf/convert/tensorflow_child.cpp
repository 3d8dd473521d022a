// TensorFlow in a child process.

#include <sys/auxv.h>

#include <span>
#include <string_view>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/tensor_file.h>

#include "base/check.h"
#include "base/file/file.h"
#include "base/file/scratch_folder.h"
#include "base/limits/account.h"
#include "base/process/child.h"
#include "base/system_error.h"
#include "base/text/one_line.h"
#include "importers/keras/keras_export.h"
#include "tensor/safetensors.h"
#include "tf/convert/tensorflow_run.h"

namespace lanner::tf {
namespace {

namespace fs = std::filesystem;

constexpr double most_seconds = 24 * 3600; ///< The caller's limit of `seconds` ends it earlier.
constexpr std::size_t longest_reason = 400;

std::string remedy() {
  return "name a Python interpreter that has TensorFlow by LANNER_KERAS_PYTHON (pip install tensorflow-cpu), "
         "or "
         "give the ranges of a table, or leave precision int8 out";
}

/// A name as the files have it, and back.
std::string marked(const std::string& name) {
  return "=" + name;
}

void write_batch(const fs::path& file, const Items& batch) {
  std::vector<Tensor> tensors; // row-major on the host, while they are written
  std::vector<SafetensorsItem> items;
  tensors.reserve(batch.size());
  for (const auto& [name, item] : batch) {
    check(item.tensor.defined() && safetensors_has(item.tensor.dtype()), ErrorCode::unsupported,
          "input {}: calibration in a child process takes tensors of numbers; lanner.tf.convert in a Python "
          "with "
          "TensorFlow takes text too",
          one_line(name, longest_reason));
    const Tensor host = item.tensor.device().is_host() ? item.tensor : item.tensor.to(Device{});
    tensors.push_back(host.layout().row_major() ? host : host.clone());
    items.push_back(safetensors_item(marked(name), tensors.back()));
  }
  write_safetensors(file, items);
}

void check_result(const ChildResult& result, const std::string& python) {
  if (result.start_error != 0)
    fail(ErrorCode::unsupported,
         "calibration runs the model inside TensorFlow, and the interpreter {} cannot be started ({}); {}",
         python, system_message(result.start_error), remedy());
  const std::string reason = last_line(result, longest_reason);
  switch (result.exit_code) {
  case calibration_done:
    return;
  case calibration_no_tensorflow:
    fail(ErrorCode::unsupported,
         "calibration runs the model inside TensorFlow, and {} has no TensorFlow ({}); {}", python, reason,
         remedy());
  case calibration_failed:
    fail(ErrorCode::invalid_argument, "calibration: {}", reason);
  default:
    fail(ErrorCode::unsupported, "calibration: the interpreter {} ended with {} {}: {}", python,
         result.exit_code < 0 ? "signal" : "code", result.exit_code < 0 ? result.signal : result.exit_code,
         reason);
  }
}

ChildProgram program_of(const fs::path& model, const fs::path& folder, std::size_t batches) {
  ChildProgram program;
  program.program = keras::interpreter();
  program.arguments = {(folder / "run.py").string(), model.string(), folder.string(),
                       std::to_string(batches)};
  program.environment = {"TF_CPP_MIN_LOG_LEVEL=3", "PYTHONDONTWRITEBYTECODE=1", "PYTHONWARNINGS=ignore",
                         "PYTHONIOENCODING=utf-8"};
  program.folder = folder;
  program.seconds = most_seconds;
  return program;
}

std::vector<Items> run(const fs::path& model, const CalibrationData& data, const Control& control,
                       const Limits& limits) {
  check(::getauxval(AT_SECURE) == 0, ErrorCode::unsupported,
        "calibration runs the model inside TensorFlow; a program with raised rights starts no interpreter");
  const ScratchFolder folder("tensorflow");
  std::size_t batches = 0;
  for (auto batch = data(true); batch; batch = data(false)) {
    control.cancel.check();
    write_batch(folder.path() / fmt::format("batch_{}.safetensors", batches++), *batch);
  }
  write_file(folder.path() / "run.py", std::as_bytes(std::span(std::string_view(calibration_script))));
  const ChildProgram program = program_of(model, folder.path(), batches);
  control.report({"calibrate: TensorFlow", 0, static_cast<double>(batches), "batches"});
  check_result(run_child(program), program.program);
  std::vector<Items> results;
  for (std::size_t b = 0; b < batches; ++b) {
    Items& items = results.emplace_back();
    for (auto& [name, tensor] : load_tensors(folder.path() / fmt::format("result_{}.safetensors", b), limits))
      items.emplace(name.substr(1), std::move(tensor));
  }
  return results;
}

} // namespace

TensorFlowRun run_in_child(const Limits& limits) {
  return [limits](const fs::path& folder, const CalibrationData& data, const Control& control) {
    return run(folder, data, control, limits);
  };
}

} // namespace lanner::tf
