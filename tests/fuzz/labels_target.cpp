#include <stdexcept>
#include <string>

#include <lanner/error.h>

#include "../tools/labels.h"
#include "fuzz/targets.h"

namespace lanner::fuzz {
namespace {

/// A refusal is an answer to this form alone.
void attempt(const char* path, const std::string& text) {
  try {
    const std::vector<std::string> labels = tool::labels_of_text(path, text);
    if (labels.empty()) throw std::logic_error("a file of labels without any was taken");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
}

} // namespace

/// Names of classes, one a line and as JSON.
void read_labels(std::span<const std::byte> input) {
  const std::string text(as_text(input));
  attempt("labels.txt", text);
  attempt("labels.json", text);
}

} // namespace lanner::fuzz
