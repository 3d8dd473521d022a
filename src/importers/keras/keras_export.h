#pragma once
// Keras' own export in a child process.

#include <string>

#include <lanner/keras.h>

namespace lanner {

/// For the bytes of a Keras file; `name` is used in messages. Errors as KerasExport::make().
KerasExport export_keras(const Content& content, const std::string& name, const Limits& limits);

namespace keras {

/// The Python interpreter that has Keras and TensorFlow, as far as is known (lanner/keras.h).
std::string interpreter();

/// The program in Python that exports a file: `script MODEL FOLDER FILE_BYTES`.
extern const char* const export_script;

/// Its exit codes; the last line that it prints has the reason.
enum ScriptCode { script_done = 0, script_bad_data = 3, script_unsupported = 4, script_no_keras = 5 };

} // namespace keras
} // namespace lanner
