#include <stdexcept>
#include <string>

#include <lanner/error.h>

#include "../tools/input/labels.h"
#include "fuzz/targets.h"

namespace lanner::fuzz {
namespace {

/// An Error is a valid answer, but for this format only.
void attempt(const char* path, const std::string& text) {
  try {
    const std::vector<std::string> labels = tool::labels_of_text(path, text);
    if (labels.empty()) throw std::logic_error("a label file without labels was accepted");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
}

} // namespace

/// Class names, one per line and as JSON.
void read_labels(std::span<const std::byte> input) {
  const std::string text(as_text(input));
  attempt("labels.txt", text);
  attempt("labels.json", text);
}

} // namespace lanner::fuzz
