#include "importers/keras/keras_export.h"

#include <sys/auxv.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file/file.h"
#include "base/file/scratch_folder.h"
#include "base/hash.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/options.h"
#include "base/process/child.h"
#include "base/system_error.h"
#include "base/text/foreign_format.h"
#include "base/text/one_line.h"

namespace lanner {
namespace {

namespace fs = std::filesystem;

constexpr double most_seconds = 1800; ///< Of one export, whose usual time is some seconds.
constexpr std::size_t longest_reason = 400;
constexpr const char* model_folder_name = "saved_model";

std::mutex& state_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::string& interpreter_of_program() {
  static std::string interpreter;
  return interpreter;
}

/// The command to run where there is Keras.
std::string remedy(const std::string& name) {
  const bool plain = name.find_first_of("'\"\\$`\n") == std::string::npos && fs::path(name).has_extension();
  const std::string file = plain ? name : "model.keras";
  const std::string folder = (fs::path(file).parent_path() / fs::path(file).stem()).string();
  return fmt::format(
      "run where TensorFlow is installed: python3 -c \"import keras; "
      "keras.saving.load_model('{0}', compile=False).export('{1}')\", and give the folder {1}; or "
      "name that interpreter by LANNER_KERAS_PYTHON",
      one_line(file, longest_reason), one_line(folder, longest_reason));
}

void check_result(const ChildResult& result, const std::string& python, const std::string& name) {
  if (result.start_error != 0)
    fail(ErrorCode::not_found,
         "a Keras file, which Keras exports, and the interpreter {} cannot be started ({}); {}", python,
         system_message(result.start_error), remedy(name));
  check(!result.timed_out, ErrorCode::limit_exceeded, "Keras did not export it within {} s", most_seconds);
  const std::string reason = last_line(result, longest_reason);
  switch (result.exit_code) {
  case keras::script_done:
    return;
  case keras::script_no_keras:
    fail(ErrorCode::not_found,
         "a Keras file, which Keras exports, and {} has no Keras with TensorFlow ({}); {}", python, reason,
         remedy(name));
  case keras::script_unsupported:
    fail(ErrorCode::unsupported, "{}", reason);
  case keras::script_bad_data:
    fail(ErrorCode::bad_data, "Keras cannot export it: {}", reason);
  default:
    fail(ErrorCode::bad_data, "the interpreter {} ended with {} {} while Keras exported it: {}", python,
         result.exit_code < 0 ? "signal" : "code", result.exit_code < 0 ? result.signal : result.exit_code,
         reason);
  }
}

void run_export(const Content& content, const std::string& name, const Limits& limits,
                const fs::path& folder) {
  check(::getauxval(AT_SECURE) == 0, ErrorCode::unsupported,
        "a Keras file, which Keras exports; a program with raised rights starts no interpreter");
  const bool archive = std::memcmp(content.bytes.data(), "PK", 2) == 0;
  const fs::path model = folder / (archive ? "model.keras" : "model.h5"), script = folder / "export.py";
  write_file(model, content.bytes);
  write_file(script, std::as_bytes(std::span(std::string_view(keras::export_script))));
  const std::string python = keras::interpreter();
  ChildProgram program;
  program.program = python;
  program.arguments = {script.string(), model.string(), (folder / model_folder_name).string(),
                       std::to_string(limits.file_bytes)};
  program.environment = {"KERAS_BACKEND=tensorflow",
                         "CUDA_VISIBLE_DEVICES=",
                         "TF_CPP_MIN_LOG_LEVEL=3",
                         "PYTHONDONTWRITEBYTECODE=1",
                         "PYTHONWARNINGS=ignore",
                         "PYTHONIOENCODING=utf-8",
                         fmt::format("KERAS_HOME={}", folder.string())};
  program.folder = folder;
  program.seconds = most_seconds;
  check_result(run_child(program), python, name);
}

} // namespace

struct KerasExport::State {
  ScratchFolder folder{"keras"};
  fs::path model = folder.path() / model_folder_name;
};

void set_keras_python(std::string path) {
  const std::scoped_lock lock(state_mutex());
  interpreter_of_program() = std::move(path);
}

const fs::path& KerasExport::folder() const noexcept {
  return state_->model;
}

std::string keras::interpreter() {
  if (std::string named = keras_python(); !named.empty()) return named;
  const std::scoped_lock lock(state_mutex());
  return interpreter_of_program().empty() ? "python3" : interpreter_of_program();
}

KerasExport export_keras(const Content& content, const std::string& name, const Limits& limits) {
  static std::mutex mutex;
  static std::string last_key;
  static std::weak_ptr<const KerasExport::State> last;
  const std::string key = fmt::format("{} {}", content.bytes.size(), hash_hex(content.bytes));
  {
    const std::scoped_lock lock(mutex);
    if (auto made = last.lock(); made && last_key == key) return KerasExport(std::move(made));
  }
  auto state = std::make_shared<KerasExport::State>();
  run_export(content, name, limits, state->folder.path());
  const std::scoped_lock lock(mutex);
  last = state;
  last_key = key;
  return KerasExport(std::move(state));
}

namespace {

/// Whether it may be one, so that other models are not read as a whole.
bool may_be_keras(ByteSource& model) {
  std::array<std::byte, 4> head{};
  if (!model.seekable() || model.read_at(0, head) < head.size()) return false;
  return std::memcmp(head.data(), "PK\3\4", 4) == 0 || std::memcmp(head.data(), "\x89HDF", 4) == 0;
}

} // namespace

std::optional<KerasExport> KerasExport::make(const SourcePtr& model, const Limits& limits,
                                             const CancelToken& cancel) {
  const DeadlineScope deadline(limits, cancel);
  return with_context([&] { return model->name(); },
                      [&]() -> std::optional<KerasExport> {
                        if (!may_be_keras(*model)) return std::nullopt;
                        const Content content = read_all(model, limits);
                        if (!is_keras_model(content.bytes)) return std::nullopt;
                        return export_keras(content, model->name(), limits);
                      });
}

} // namespace lanner
