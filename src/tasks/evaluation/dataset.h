#pragma once
// What the dataset formats share.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/evaluation.h>

namespace lanner {

struct Dataset::Form {
  virtual ~Form() = default;
  virtual GroundTruth truth(std::size_t i, std::int32_t width, std::int32_t height) const = 0;
  /// The picture's file.
  virtual Content content(std::size_t i, const Limits& limits) const;

  std::vector<std::string> pictures; ///< Paths, or names where content() reads no files.
  bool has_files = true;             ///< Whether each picture is a file.
  std::vector<std::string> others;   ///< Files with ground truth.
  std::vector<std::string> notes;
  std::vector<std::string> labels; ///< Number of classes, where the task has none.
};

namespace tasks {

using FormPtr = std::shared_ptr<const Dataset::Form>;

FormPtr open_class_folders(const std::filesystem::path& folder, const Task& task,
                           const DatasetOptions& options);
FormPtr open_coco(const std::filesystem::path& file, const Task& task, const DatasetOptions& options);
/// The same for the file's text.
FormPtr read_coco(std::string_view json, const std::filesystem::path& file, const Task& task,
                  const DatasetOptions& options);
/// `data`: a folder with `images` and `labels`, or a data.yaml.
FormPtr open_yolo(const std::filesystem::path& data, const Task& task, const DatasetOptions& options);
/// The objects in the text of one picture's labels, with the file's class numbers; `name` is used in errors.
GroundTruth read_yolo_truth(std::string_view text, const std::string& name, const Task& task,
                            const Limits& limits, std::int32_t width, std::int32_t height);
FormPtr open_masks(const std::filesystem::path& folder, const Task& task, const DatasetOptions& options);

/// Whether a name has an image file's extension.
bool is_picture_name(const std::filesystem::path& path);
/// Images in a folder, in order; with `deep` also in its subfolders. Without hidden ones. Throws
/// Error{not_found, io}.
std::vector<std::filesystem::path> pictures_in(const std::filesystem::path& folder, bool deep);
/// Reads a small text file. Throws Error{not_found, io, bad_data, limit_exceeded}.
std::string read_small_text(const std::filesystem::path& path, const Limits& limits);

/// Class names of a dataset, and the network's classes that they stand for.
struct ClassNumbers {
  std::vector<std::int64_t> numbers; ///< For each name; -1: none.
  std::size_t matched = 0;
};
/// By name: case, `_` and `-` are ignored, and of `tench, Tinca tinca` the first name is enough. Throws
ClassNumbers match_names(const std::vector<std::string>& names, const std::vector<std::string>& labels);
/// Error{bad_data} that says which name is no label.
[[noreturn]] void fail_unmatched(const std::string& where, const char* what, const std::string& name,
                                 const std::vector<std::string>& labels);

/// `1 picture`, `3 pictures`.
std::string counted(std::size_t count, const char* noun, const char* plural = nullptr);

} // namespace tasks
} // namespace lanner
