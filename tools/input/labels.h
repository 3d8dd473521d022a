#pragma once
// Files of class names.

#include <string>
#include <vector>

#include <lanner/task.h>

namespace lanner::tool {

/// A small file of text; `expected` says in errors what it should be.
std::string read_text(const std::string& path, const char* expected);

/// Names of classes in their order: one a line, without the WordNet number that ImageNet's lists begin their
/// lines with; or, of a file called .json, a list, a dict by number, or one under `id2label`.
std::vector<std::string> read_labels(const std::string& path);
/// The same of the file's text.
std::vector<std::string> labels_of_text(const std::string& path, const std::string& text);

/// A note where classes have no names but a file beside the model may have them, which is never read without
/// being asked for; else empty.
std::string labels_note(const std::string& model, const Task& task);

} // namespace lanner::tool
