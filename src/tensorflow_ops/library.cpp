// What the library shows: its operators are registered as soon as it is loaded.

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include <fmt/ranges.h>
#include <lanner/error.h>

#include "c_api.h"
#include "engine.h"
#include "json.h"
#include "operators.h"

#define LANNER_SHOWN extern "C" __attribute__((visibility("default")))

namespace lanner::tensorflow_ops {
namespace {

struct Registration {
  std::string error;
  std::vector<std::string> operators;
};

/// Registers the operators once. What failed is tried again at the next call: this library may be loaded
/// before TensorFlow.
Registration registration() {
  static std::mutex mutex;
  static auto* done = new Registration{"not tried yet", {}};
  const std::scoped_lock lock(mutex);
  if (done->error.empty()) return *done;
  try {
    done->operators = register_operators();
    done->error.clear();
  } catch (const std::exception& error) {
    done->error = error.what();
  }
  return *done;
}

char* copied(const std::string& text) {
  return ::strdup(text.c_str());
}

// Also by dlopen without TensorFlow's help; TensorFlow lists the operators that appear while it loads a
// library.
__attribute__((constructor)) void loaded() {
  registration();
}

} // namespace
} // namespace lanner::tensorflow_ops

using namespace lanner::tensorflow_ops;

/// What TensorFlow calls in plug-ins with kernels.
LANNER_SHOWN void TF_InitKernel() {
  registration();
}

// The functions below are for lanner.tf, which frees their texts by lanner_tensorflow_free.

/// A JSON object: `version` of TensorFlow, `operators` that were added, `error` (empty: none).
LANNER_SHOWN char* lanner_tensorflow_state() {
  const Registration done = registration();
  std::vector<std::string> names;
  for (const std::string& name : done.operators) names.push_back(json_text(name));
  JsonObject made;
  made.add("version", std::string_view(c_api().TF_Version ? c_api().TF_Version() : ""));
  made.add("error", done.error);
  made.add_raw("operators", fmt::format("[{}]", fmt::join(names, ",")));
  return copied(made.text());
}

/// Settings of engines that are made from now on. A budget below 0: the default of builds.
LANNER_SHOWN void lanner_tensorflow_set(int threads, double budget, int native_segments) {
  Settings made;
  made.threads = threads;
  if (budget >= 0) made.budget = budget;
  made.native_segments = native_segments != 0;
  change_settings(made);
}

LANNER_SHOWN char* lanner_tensorflow_statistics() {
  return copied(all_statistics());
}

LANNER_SHOWN void lanner_tensorflow_free(char* text) {
  std::free(text);
}
