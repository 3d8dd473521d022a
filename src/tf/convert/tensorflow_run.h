#pragma once
// INT8 calibration of models that only TensorFlow can run.

#include <vector>

#include "tf/convert/run.h"

namespace lanner::tf {

/// What each engine part is given on the calibration data, by part, batch after batch: TensorFlow runs every
/// node of the model, the engines' too, so that nothing has been rounded. The lists of native parts are
/// empty. Throws Error{unsupported} with the remedy where there is no TensorFlow, and Error{invalid_argument}
/// for a batch that fails in it.
std::vector<std::vector<Items>> inputs_in_tensorflow(const ModelState& state);

/// ConvertOptions::run_in_tensorflow where the caller gives none. `limits`: of files.
TensorFlowRun run_in_child(const Limits& limits);

/// The program in Python that run_in_child() starts: `script MODEL FOLDER BATCHES`. It reads
/// `FOLDER/batch_0.safetensors` and writes `FOLDER/result_0.safetensors`. All names of tensors there begin
/// with
/// `=`, so that none is one that the format reserves.
extern const char* const calibration_script;
/// Its exit codes; the last line that it prints has the reason.
enum CalibrationCode { calibration_done = 0, calibration_failed = 3, calibration_no_tensorflow = 5 };

} // namespace lanner::tf
