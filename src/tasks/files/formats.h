#pragma once
// The result formats, and what they share.

#include <filesystem>
#include <memory>
#include <span>

#include <lanner/result_writer.h>

#include "base/text/json.h"
#include "tasks/read/result_parts.h"

namespace lanner {

using OrderedJson = nlohmann::ordered_json;

/// A float as the shortest number that parses to it; null where it is not finite.
OrderedJson json_number(float value);
/// COCO's `segmentation` of a mask: `{"size": [height, width], "counts": "..."}`.
OrderedJson json_mask(const Mask& mask, std::int32_t width, std::int32_t height);
/// The second network's answer for box `i`, as JSON lines have it: `{"top": [...]}`; null where it did not
/// run on it. The result has crops.
OrderedJson json_crop_of(const TaskResult& result, std::int64_t i);
std::int64_t mask_pixels(const Mask& mask); ///< Inside pixels.

/// Pixels of a class in a picture.
struct ClassShare {
  std::int64_t number;
  double share; ///< Share of the picture's pixels.
};
/// From a semantic result, the largest first.
std::vector<ClassShare> class_shares(const TaskResult& result);

struct DepthFacts {
  float least = 0, most = 0;
  double mean = 0;
  std::int64_t finite = 0, not_finite = 0; ///< Pixels. Without finite ones the rest is unset.
};
DepthFacts depth_facts(const TaskResult& result);
std::span<const float> embedding_of(const TaskResult& result);

/// One format of ResultWriter.
class ResultFile {
public:
  virtual ~ResultFile() = default;
  virtual void write(const ImageSource& picture, const TaskResult& result, const Task& task) = 0;
  virtual void finish(const Task& task) = 0;
};
std::unique_ptr<ResultFile> open_json_file(const std::filesystem::path& path);
std::unique_ptr<ResultFile> open_csv_file(const std::filesystem::path& path);
std::unique_ptr<ResultFile> open_coco_file(const std::filesystem::path& path);
std::unique_ptr<ResultFile> open_yolo_folder(const std::filesystem::path& path);

} // namespace lanner
