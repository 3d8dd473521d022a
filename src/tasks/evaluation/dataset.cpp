#include "tasks/evaluation/dataset.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include <lanner/image.h>
#include <lanner/source.h>

#include "base/check.h"
#include "base/file/regular_file.h"
#include "base/text/nearest.h"
#include "base/text/one_line.h"
#include "tasks/read/result_parts.h"

namespace lanner {
namespace tasks {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_text = 16u << 20;

/// A name's form for comparisons.
std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : name) {
    const bool gap = c == '_' || c == '-' || c == ' ';
    if (gap && (key.empty() || key.back() == ' ')) continue;
    key += gap ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  while (!key.empty() && key.back() == ' ') key.pop_back();
  return key;
}

constexpr std::int64_t ambiguous = -2;

void add_key(std::map<std::string, std::int64_t>& keys, const std::string& key, std::int64_t number) {
  const auto [entry, fresh] = keys.emplace(key, number);
  if (!fresh && entry->second != number) entry->second = ambiguous;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

[[noreturn]] void fail_form(const fs::path& data, TaskKind kind) {
  const char* expected =
      "a JSON file of COCO, or a folder with images/ and labels/ of YOLO, or its data.yaml";
  if (kind == TaskKind::classify) expected = "a folder with a folder of images for each class";
  if (kind == TaskKind::semantic) expected = "a folder with images/ and masks/, with class numbers as pixels";
  fail(ErrorCode::bad_data, "{}: is not a dataset for task {}; expected {}", data.string(), to_string(kind),
       expected);
}

std::string ending_of(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

} // namespace

bool is_picture_name(const fs::path& path) {
  static constexpr std::string_view endings[] = {".jpg", ".jpeg", ".png", ".bmp", ".webp",
                                                 ".tif", ".tiff", ".ppm", ".pgm"};
  return std::ranges::find(endings, ending_of(path)) != std::end(endings);
}

std::vector<fs::path> pictures_in(const fs::path& folder, bool deep) {
  std::vector<fs::path> found;
  std::error_code error;
  const auto add = [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    if (entry.path().filename().string().starts_with('.')) return;
    if (is_picture_name(entry.path()) && entry.is_regular_file(ignored)) found.push_back(entry.path());
  };
  if (deep) {
    fs::recursive_directory_iterator walk(folder, error);
    for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) add(*walk);
  } else {
    fs::directory_iterator walk(folder, error);
    for (; !error && walk != fs::directory_iterator(); walk.increment(error)) add(*walk);
  }
  check(!error, is_folder(folder) ? ErrorCode::io : ErrorCode::not_found, "{}: {}", folder.string(),
        error.message());
  std::ranges::sort(found);
  return found;
}

std::string read_small_text(const fs::path& path, const Limits& limits) {
  Limits small = limits;
  small.file_bytes = std::min(small.file_bytes, most_text);
  const Content content = read_regular_file(path, small);
  return {reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()};
}

ClassNumbers match_names(const std::vector<std::string>& names, const std::vector<std::string>& labels) {
  std::map<std::string, std::int64_t> exact, whole, first;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    add_key(exact, labels[i], number);
    add_key(whole, key_of(labels[i]), number);
    add_key(first, key_of(std::string_view(labels[i]).substr(0, labels[i].find(','))), number);
  }
  ClassNumbers found;
  for (const std::string& name : names) {
    std::int64_t number = -1;
    for (const auto& [keys, key] :
         {std::pair(&exact, name), std::pair(&whole, key_of(name)), std::pair(&first, key_of(name))}) {
      const auto entry = keys->find(key);
      if (number < 0 && entry != keys->end() && entry->second >= 0) number = entry->second;
    }
    found.numbers.push_back(number);
    found.matched += number >= 0;
  }
  return found;
}

void fail_unmatched(const std::string& where, const char* what, const std::string& name,
                    const std::vector<std::string>& labels) {
  constexpr std::size_t shown = 80;
  fail(ErrorCode::bad_data, "{}: {} '{}' is not among the network's {} labels{}", where, what,
       lanner::one_line(name, shown), labels.size(), did_you_mean(name, labels));
}

std::string counted(std::size_t count, const char* noun, const char* plural) {
  if (count == 1) return fmt::format("1 {}", noun);
  return plural ? fmt::format("{} {}", count, plural) : fmt::format("{} {}s", count, noun);
}

} // namespace tasks

namespace {

struct ListedPictures : Dataset::Form {
  GroundTruth truth(std::size_t i, std::int32_t, std::int32_t) const override {
    GroundTruth truth;
    truth.label = list.classes[i];
    return truth;
  }
  Content content(std::size_t i, const Limits&) const override { return list.read(i); }
  ClassPictures list; ///< Without what the form has itself.
};

} // namespace

Content Dataset::Form::content(std::size_t i, const Limits& limits) const {
  return read_regular_file(pictures[i], limits);
}

Dataset Dataset::of(ClassPictures pictures) {
  check(!pictures.names.empty() && pictures.names.size() == pictures.classes.size() && pictures.read,
        ErrorCode::invalid_argument, "data set: {} names of pictures, {} classes; expected as many",
        pictures.names.size(), pictures.classes.size());
  auto form = std::make_shared<ListedPictures>();
  form->has_files = false;
  form->pictures = std::move(pictures.names);
  form->others = std::move(pictures.files);
  form->labels = std::move(pictures.labels);
  form->notes = std::move(pictures.notes);
  form->list = std::move(pictures);
  return Dataset(std::move(form));
}

Dataset Dataset::open(const std::filesystem::path& data, const Task& task, const DatasetOptions& options) {
  check(task.kind && can_evaluate(*task.kind), ErrorCode::invalid_argument,
        "{}: task {} cannot be evaluated; expected classify, detect, segment, pose, obb or semantic",
        data.string(), task.kind ? to_string(*task.kind) : "unknown");
  check(!options.ignore || task.kind == TaskKind::semantic, ErrorCode::invalid_argument,
        "ignore is for task semantic, the task is {}; leave it out", to_string(*task.kind));
  check(options.images.empty() || task.kind != TaskKind::classify, ErrorCode::invalid_argument,
        "images: the folders of classes have the images themselves; leave it out");
  std::error_code ignored;
  check(std::filesystem::exists(data, ignored), ErrorCode::not_found, "{}: no such file or folder",
        data.string());
  const bool folder = tasks::is_folder(data), boxes = has_boxes(*task.kind);
  const std::string ending = tasks::ending_of(data);
  tasks::FormPtr form;
  if (boxes && !folder && ending == ".json") form = tasks::open_coco(data, task, options);
  if (boxes && !folder && (ending == ".yaml" || ending == ".yml"))
    form = tasks::open_yolo(data, task, options);
  const bool yolo = tasks::is_folder(data / "labels") || std::filesystem::exists(data / "data.yaml", ignored);
  if (boxes && folder && yolo) form = tasks::open_yolo(data, task, options);
  if (*task.kind == TaskKind::classify && folder) form = tasks::open_class_folders(data, task, options);
  if (*task.kind == TaskKind::semantic && folder) form = tasks::open_masks(data, task, options);
  if (!form) tasks::fail_form(data, *task.kind);
  check(!form->pictures.empty(), ErrorCode::bad_data, "{}: has no images", data.string());
  return Dataset(std::move(form));
}

std::size_t Dataset::size() const noexcept {
  return form_->pictures.size();
}

const std::string& Dataset::picture(std::size_t i) const {
  check(i < size(), ErrorCode::invalid_argument, "data set: picture {} of {}", i, size());
  return form_->pictures[i];
}

Image Dataset::image(std::size_t i, const Limits& limits) const {
  const std::string& name = picture(i);
  return decode_image(form_->content(i, limits).bytes, limits, name);
}

std::vector<std::string> Dataset::files() const {
  std::vector<std::string> all = form_->others;
  if (form_->has_files) all.insert(all.end(), form_->pictures.begin(), form_->pictures.end());
  return all;
}

GroundTruth Dataset::truth(std::size_t i, std::int32_t width, std::int32_t height) const {
  check(i < size(), ErrorCode::invalid_argument, "data set: picture {} of {}", i, size());
  check(width > 0 && height > 0, ErrorCode::invalid_argument, "data set: an image of {}x{} has no pixels",
        width, height);
  return form_->truth(i, width, height);
}

Task Dataset::named(Task task) const {
  if (task.labels.empty()) task.labels = form_->labels;
  return task;
}

const std::vector<std::string>& Dataset::notes() const noexcept {
  return form_->notes;
}

} // namespace lanner
