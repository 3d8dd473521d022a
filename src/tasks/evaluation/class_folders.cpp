// A folder of pictures for each class.

#include <algorithm>
#include <cctype>
#include <system_error>

#include <fmt/format.h>

#include "base/check.h"
#include "tasks/evaluation/dataset.h"

namespace lanner::tasks {
namespace {

namespace fs = std::filesystem;

struct ClassFolders : Dataset::Form {
  GroundTruth truth(std::size_t i, std::int32_t, std::int32_t) const override {
    GroundTruth truth;
    truth.label = classes[i];
    return truth;
  }
  std::vector<std::int64_t> classes; ///< In the order of `pictures`.
};

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error, ignored;
  fs::directory_iterator walk(folder, error);
  for (; !error && walk != fs::directory_iterator(); walk.increment(error)) {
    const std::string name = walk->path().filename().string();
    if (!name.starts_with('.') && walk->is_directory(ignored)) names.push_back(name);
  }
  check(!error, ErrorCode::io, "{}: {}", folder.string(), error.message());
  std::ranges::sort(names);
  return names;
}

bool is_number(std::string_view name) {
  return !name.empty() && name.size() < 10 &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// WordNet numbers, the names of ImageNet's folders: n01440764.
bool is_synset(std::string_view name) {
  return name.size() == 9 && name[0] == 'n' && is_number(name.substr(1));
}

std::vector<std::int64_t> in_order(std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int64_t>(i);
  return numbers;
}

/// Whether folders are named by numbers that sort differently as text.
bool is_numbered_apart(const std::vector<std::string>& names) {
  if (!std::ranges::all_of(names, is_number)) return false;
  return !std::ranges::is_sorted(names, {}, [](const std::string& name) { return std::stoll(name); });
}

std::vector<std::int64_t> numbers_of(const std::string& folder, const std::vector<std::string>& names,
                                     const Task& task, const DatasetOptions& options, std::string& how) {
  const std::vector<std::string>& labels = task.labels;
  ClassNumbers found = match_names(names, labels);
  if (found.matched == names.size()) {
    how = "by name";
    return found.numbers;
  }
  const auto classes = labels.empty() ? static_cast<std::size_t>(options.classes) : labels.size();
  const bool synsets = std::ranges::all_of(names, is_synset) && names.size() == classes;
  if (!labels.empty() && !synsets) {
    const auto place = std::ranges::find(found.numbers, -1) - found.numbers.begin();
    fail_unmatched(folder, "the folder", names[static_cast<std::size_t>(place)], labels);
  }
  check(labels.empty() ? !is_numbered_apart(names) : true, ErrorCode::invalid_argument,
        "{}: the folders' names are numbers that sort differently as text, and the model names no "
        "classes; "
        "give labels in the order of its outputs",
        folder);
  check(classes == 0 || classes == names.size(), ErrorCode::invalid_argument,
        "{}: got {} of classes, the network has {} without names; give labels in the order of its outputs",
        folder, counted(names.size(), "folder"), classes);
  how = synsets && !labels.empty() ? "in the order of their WordNet numbers, as ImageNet has them"
                                   : "in the order of their names, as the model names no classes";
  return in_order(names.size());
}

} // namespace

FormPtr open_class_folders(const fs::path& folder, const Task& task, const DatasetOptions& options) {
  const std::vector<std::string> names = folders_in(folder);
  check(!names.empty(), ErrorCode::bad_data,
        "{}: task classify is measured on a folder with a folder of images for each class; there is no "
        "folder in it",
        folder.string());
  std::string how;
  const std::vector<std::int64_t> numbers = numbers_of(folder.string(), names, task, options, how);
  auto form = std::make_shared<ClassFolders>();
  if (task.labels.empty()) form->labels = names;
  std::size_t empty = 0;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::vector<fs::path> pictures = pictures_in(folder / names[k], true);
    empty += pictures.empty();
    for (const fs::path& picture : pictures) {
      form->pictures.push_back(picture.string());
      form->classes.push_back(numbers[k]);
    }
  }
  form->notes.push_back(fmt::format("{}: {} in {}, which are classes {}", folder.string(),
                                    counted(form->pictures.size(), "picture"),
                                    counted(names.size(), "folder"), how));
  if (empty > 0)
    form->notes.push_back(fmt::format("{}: {} without a picture", folder.string(), counted(empty, "folder")));
  return form;
}

} // namespace lanner::tasks
