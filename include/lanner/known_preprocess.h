#pragma once
// Preprocessing of known model families: from the exporter's metadata, or from files next to the model.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lanner/dtype.h>
#include <lanner/preprocess.h>

namespace lanner {

/// Properties of an output that identify a family.
struct OutputSigns {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims; ///< -1 where the size is open.
};

/// Properties of a model that identify its family.
struct ModelSigns {
  std::map<std::string, std::string> metadata;
  std::filesystem::path folder;    ///< Folder of the model's file and those next to it. Empty: none.
  std::vector<std::int64_t> input; ///< Dims of the input that takes pictures, -1 where the size is open.
  std::vector<OutputSigns> outputs;
};

/// The preprocessing that the model's authors use.
struct KnownPreprocess {
  /// Sizes that are 0 are the input's; where these are open too, each picture keeps its own.
  Preprocess spec;
  std::string reason;      ///< The source: `ultralytics' metadata (task, stride, imgsz)`.
  std::int32_t stride = 1; ///< Sides of the input must be multiples of this.
};

/// Recognised are, in this order: ultralytics' metadata; the outputs of torchvision's detectors together with
/// an input [3, H, W]; and files next to the model: transformers' preprocessor_config.json or
/// processor_config.json, timm's config.json, PaddleOCR's inference.yml. Nothing is guessed: where one of
/// them requires what Preprocess cannot express, or is damaged, the result is empty, and `why_not`, if given,
/// says why in a line. Files of more than 1 MiB are not read.
std::optional<KnownPreprocess> known_preprocess(const ModelSigns& model, std::string* why_not = nullptr);

} // namespace lanner
