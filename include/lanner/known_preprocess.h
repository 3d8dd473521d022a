#pragma once
// Preprocessing that a model's family is known by: what its exporter wrote into it, or left beside it.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lanner/dtype.h>
#include <lanner/preprocess.h>

namespace lanner {

/// An output as a family's sign.
struct OutputSigns {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims; ///< -1 where the size is open.
};

/// What a family is known by.
struct ModelSigns {
  std::map<std::string, std::string> metadata;
  std::filesystem::path folder;    ///< Of the model's file: files beside it count. Empty: there is none.
  std::vector<std::int64_t> input; ///< Dims of the input that takes pictures, -1 where the size is open.
  std::vector<OutputSigns> outputs;
};

/// What pictures become for a network, as those do it who made it.
struct KnownPreprocess {
  /// Sizes that are 0 are the input's; where these are open too, each picture keeps its own.
  Preprocess spec;
  std::string reason;      ///< Who says so: `ultralytics' metadata (task, stride, imgsz)`.
  std::int32_t stride = 1; ///< Sides of the input have to be multiples of this.
};

/// Known are, the first that holds: ultralytics' metadata; the outputs of torchvision's detectors behind an
/// input [3, H, W]; and files beside the model: transformers' preprocessor_config.json or
/// processor_config.json, timm's config.json, PaddleOCR's inference.yml. Nothing is guessed: where one of
/// them asks for what Preprocess cannot say, or is damaged, nothing is known, and `why_not`, where given,
/// tells in a line. Files of more than 1 MiB are not read.
std::optional<KnownPreprocess> known_preprocess(const ModelSigns& model, std::string* why_not = nullptr);

} // namespace lanner
