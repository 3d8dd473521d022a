#pragma once
// Keras' files (.keras, .h5) are read by way of Keras itself, which exports them as a SavedModel in a child
// process. See docs/tensorflow.md.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <lanner/cancel.h>
#include <lanner/limits.h>
#include <lanner/source.h>

namespace lanner {

/// The Python interpreter that exports them, where the environment variable LANNER_KERAS_PYTHON names none.
/// Empty, the default: `python3` on PATH. Thread-safe.
void set_keras_python(std::string interpreter);

/// A Keras file as a SavedModel in a temporary folder, which is removed with the last copy. Whoever reads the
/// same bytes again while one lives, by building or importing them, uses this folder.
class KerasExport {
public:
  /// Nothing where `model`, which must be seekable, is not a Keras model. Throws Error{not_found} where no
  /// interpreter has Keras, with the command that exports the file where there is one, Error{unsupported} for
  /// a file with code of its own (a Lambda layer, classes that are not Keras'), which is not run,
  /// Error{bad_data, limit_exceeded, cancelled}.
  static std::optional<KerasExport> make(const SourcePtr& model, const Limits& limits = {},
                                         const CancelToken& cancel = {});

  const std::filesystem::path& folder() const noexcept;

private:
  struct State;
  explicit KerasExport(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  friend KerasExport export_keras(const Content& content, const std::string& name, const Limits& limits);
  std::shared_ptr<const State> state_;
};

} // namespace lanner
