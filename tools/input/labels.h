#pragma once
// Files of class names.

#include <string>
#include <vector>

#include <lanner/task.h>

namespace lanner::tool {

/// Reads a small text file; `expected` describes it in errors.
std::string read_text(const std::string& path, const char* expected);

/// Class names in their order: one a line, where WordNet numbers of ImageNet's lists are dropped; or, in a
/// file called .json, a list, a dict by number, or one under `id2label`.
std::vector<std::string> read_labels(const std::string& path);
/// The same of the file's text.
std::vector<std::string> labels_of_text(const std::string& path, const std::string& text);

/// A note where classes have no names but a file in the model's folder may have them, which is only read on
/// request; else empty.
std::string labels_note(const std::string& model, const Task& task);

} // namespace lanner::tool
