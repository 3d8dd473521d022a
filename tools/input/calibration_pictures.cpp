#include "input/calibration_pictures.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/image.h>
#include <lanner/preprocess.h>

#include "check.h"
#include "input/media.h"
#include "options/limit_option.h"
#include "options/path_patterns.h"
#include "output/console.h"

namespace lanner::tool {
namespace {

std::vector<std::string> pictures_at(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    std::vector<std::string> found;
    std::size_t others = 0;
    for (const std::string& file : files_in(path)) {
      if (kind_of(file) == FileKind::image)
        found.push_back(file);
      else
        ++others;
    }
    if (others > 0) print_note(fmt::format("note: --calibrate {}: {} files are no images", path, others));
    return found;
  }
  return is_pattern(path) ? files_matching(path) : std::vector{path};
}

/// Batches of images for one input.
class PictureBatches {
public:
  PictureBatches(std::vector<std::string> files, PictureInput picture, std::size_t size)
      : files_(std::move(files)), picture_(std::move(picture)), size_(size) {}

  std::optional<std::map<std::string, Item>> operator()(bool restart) {
    if (restart) next_ = 0;
    if (next_ + size_ > files_.size()) return std::nullopt;
    Tensor batch;
    for (std::size_t i = 0; i < size_; ++i) {
      const Image image = load_image(files_[next_ + i], given_limits());
      if (i == 0) batch = empty_batch(image);
      preprocess(image, picture_.spec, batch, static_cast<std::int64_t>(i));
    }
    next_ += size_;
    return std::map<std::string, Item>{{picture_.input, batch}};
  }

private:
  Tensor empty_batch(const Image& first) const {
    const Shape one = output_shape(picture_.spec, first.width, first.height);
    std::vector<std::int64_t> dims{static_cast<std::int64_t>(size_)};
    dims.insert(dims.end(), one.begin(), one.end());
    return Tensor::allocate(picture_.spec.dtype, Shape(std::move(dims)));
  }

  std::vector<std::string> files_;
  PictureInput picture_;
  std::size_t size_, next_ = 0;
};

} // namespace

bool calibrates_on_pictures(const BuildOptions& build) {
  const std::string path = build.calibration.data_file.string();
  if (path.empty()) return false;
  if (std::filesystem::is_directory(path) || (is_pattern(path) && !std::filesystem::exists(path)))
    return true;
  return kind_of(path) == FileKind::image;
}

void take_calibration_pictures(const ModelFacts& facts, const PreprocessOptions& options,
                               const std::string& name, BuildOptions& build) {
  const std::string path = build.calibration.data_file.string();
  std::vector<std::string> files = pictures_at(path);
  check(!files.empty(), ErrorCode::invalid_argument,
        "--calibrate {}: no image; expected images, or a safetensors "
        "file",
        path);
  check(facts.inputs.size() == 1, ErrorCode::invalid_argument,
        "--calibrate {}: the model has {} inputs; give a safetensors file with a tensor for each", path,
        facts.inputs.size());
  const Binding& input = picture_input(facts.inputs, name);
  PictureInput picture = resolve_preprocess(options, *facts.engine, facts.folder, input);
  as_one_size(picture);
  const auto asked = build.shapes.find(picture.input);
  const std::int64_t batch = asked == build.shapes.end() ? input.dims[0] : asked->second.opt[0];
  const std::size_t size = batch > 0 ? static_cast<std::size_t>(batch) : 1;
  check(files.size() >= size, ErrorCode::invalid_argument,
        "--calibrate {}: {} images; expected at least {}, "
        "the model's batch",
        path, files.size(), size);
  build.calibration.data_file.clear();
  build.calibration.data = PictureBatches(std::move(files), std::move(picture), size);
}

} // namespace lanner::tool
