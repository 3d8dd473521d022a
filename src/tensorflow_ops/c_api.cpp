#include "c_api.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <mutex>

#include <lanner/error.h>

namespace lanner::tensorflow_ops {
namespace {

/// The libraries of TensorFlow that this process has, in any way in which it is shipped.
class Libraries {
public:
  Libraries() {
    constexpr std::array names{"libtensorflow_framework.so.2", "libtensorflow_cc.so.2", "libtensorflow.so.2",
                               "_pywrap_tensorflow_internal.so"};
    std::size_t count = 0;
    for (const char* name : names) {
      // Never opened here: a second TensorFlow in a process would be another one than the one that calls.
      handles_[count] = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
      if (handles_[count]) ++count;
    }
    handles_[count] = RTLD_DEFAULT;
    count_ = count + 1;
  }

  void* find(const char* name) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (void* found = ::dlsym(handles_[i], name)) return found;
    return nullptr;
  }

private:
  std::array<void*, 5> handles_{}; // never closed: TensorFlow cannot be unloaded
  std::size_t count_ = 0;
};

CApi resolved() {
  const Libraries libraries;
  CApi api;
  std::string missing;
  std::size_t found = 0;
#define LANNER_TENSORFLOW_FIND(name, result, arguments)                                                      \
  api.name = reinterpret_cast<result(*) arguments>(libraries.find(#name));
#define LANNER_TENSORFLOW_REQUIRE(name, result, arguments)                                                   \
  LANNER_TENSORFLOW_FIND(name, result, arguments)                                                            \
  if (api.name)                                                                                              \
    ++found;                                                                                                 \
  else if (missing.empty())                                                                                  \
    missing = #name;
  LANNER_TENSORFLOW_NEEDED(LANNER_TENSORFLOW_REQUIRE)
  LANNER_TENSORFLOW_OPTIONAL(LANNER_TENSORFLOW_FIND)
#undef LANNER_TENSORFLOW_REQUIRE
#undef LANNER_TENSORFLOW_FIND
  if (found == 0)
    api.missing = "this process has no TensorFlow; expected TensorFlow 2.15 or later to be loaded before";
  else if (!missing.empty())
    api.missing = fmt::format("TensorFlow {} has no function {}; expected TensorFlow 2.15 or later",
                              api.TF_Version ? api.TF_Version() : "in this process", missing);
  return api;
}

} // namespace

const CApi& c_api() {
  // Never freed: used by kernels that die after static objects.
  static std::atomic<const CApi*> known = nullptr;
  const CApi* api = known.load();
  if (api && api->missing.empty()) return *api;
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  api = known.load();
  if (api && api->missing.empty()) return *api;
  known = api = new CApi(resolved()); // TensorFlow may have been loaded since
  return *api;
}

void Status::check(const char* what) const {
  if (ok()) return;
  errors::fail(ErrorCode::internal, "{}: {}", what, message());
}

} // namespace lanner::tensorflow_ops
