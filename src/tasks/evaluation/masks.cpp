// Datasets whose masks are images of class numbers.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include <lanner/image.h>
#include <lanner/source.h>

#include "base/check.h"
#include "base/file/regular_file.h"
#include "tasks/evaluation/dataset.h"
#include "tasks/evaluation/png_facts.h"

namespace lanner::tasks {
namespace {

namespace fs = std::filesystem;

struct MaskForm : Dataset::Form {
  GroundTruth truth(std::size_t i, std::int32_t width, std::int32_t height) const override {
    GroundTruth truth;
    with_context([&] { return masks[i]; },
                 [&] {
                   const Content content = read_regular_file(masks[i], limits);
                   truth.classes = read_class_numbers(content.bytes, limits);
                   check(truth.classes.shape() == Shape{height, width}, ErrorCode::bad_data,
                         "has {}x{} pixels, its image {}x{}", truth.classes.shape()[1],
                         truth.classes.shape()[0], width, height);
                   for (std::int32_t& value : truth.classes.as<std::int32_t>()) {
                     if (value == ignore) value = -1;
                     check(
                         known == 0 || value < known, ErrorCode::bad_data,
                         "a pixel is {}, the network has {} classes; expected less, or {} for ignored pixels",
                         value, known, ignore);
                   }
                 });
    return truth;
  }

  std::vector<std::string> masks; ///< In the order of `pictures`.
  int ignore = 255;
  std::int64_t known = 0;
  Limits limits;
};

struct Folders {
  fs::path images, masks;
};

Folders folders_of(const fs::path& data, const DatasetOptions& options) {
  constexpr std::pair<const char*, const char*> known[] = {{"images", "masks"},
                                                           {"images", "annotations"},
                                                           {"images", "labels"},
                                                           {"JPEGImages", "SegmentationClass"}};
  std::error_code ignored;
  for (const auto& [images, masks] : known) {
    const fs::path pictures = options.images.empty() ? data / images : options.images;
    if (fs::is_directory(pictures, ignored) && fs::is_directory(data / masks, ignored))
      return {pictures, data / masks};
  }
  fail(ErrorCode::not_found,
       "{}: task semantic is measured on a folder with images/ and masks/ (or annotations/, labels/; "
       "JPEGImages/ and "
       "SegmentationClass/)",
       data.string());
}

} // namespace

FormPtr open_masks(const fs::path& folder, const Task& task, const DatasetOptions& options) {
  const Folders folders = folders_of(folder, options);
  auto form = std::make_shared<MaskForm>();
  form->ignore = options.ignore.value_or(form->ignore);
  form->known = task.labels.empty() ? options.classes : static_cast<std::int64_t>(task.labels.size());
  form->limits = options.limits;
  std::map<fs::path, fs::path> masks; ///< By path relative to the folder, without extension.
  for (const fs::path& mask : pictures_in(folders.masks, true)) {
    const fs::path key = mask.lexically_relative(folders.masks).replace_extension();
    check(masks.emplace(key, mask).second, ErrorCode::bad_data, "{}: there are two masks of {}",
          folders.masks.string(), key.string());
  }
  std::size_t unmasked = 0;
  for (const fs::path& picture : pictures_in(folders.images, true)) {
    const auto mask = masks.find(picture.lexically_relative(folders.images).replace_extension());
    unmasked += mask == masks.end();
    if (mask == masks.end()) continue;
    form->pictures.push_back(picture.string());
    form->masks.push_back(mask->second.string());
    masks.erase(mask);
  }
  for (const auto& [key, mask] : masks) { // A missing image is reported like one that cannot be read.
    form->pictures.push_back((folders.images / key).string());
    form->masks.push_back(mask.string());
  }
  form->others = form->masks;
  form->notes.push_back(fmt::format("{}: {} with masks of {}, pixels of {} are ignored",
                                    folders.images.string(), counted(form->pictures.size(), "picture"),
                                    folders.masks.string(), form->ignore));
  if (unmasked > 0)
    form->notes.push_back(
        fmt::format("{}: {} without a mask left out", folders.images.string(), counted(unmasked, "picture")));
  return form;
}

} // namespace lanner::tasks
