#pragma once
// The table exported by liblanner-onednn.so. Can be included without oneDNN.

#include <cstdint>
#include <memory>

#include "graph/backend.h"

namespace lanner {

/// See load_module of base/file/module.h; opened by the name "onednn". Both sides share C++ types, so any
/// change of graph/backend.h or its includes must raise the version.
struct OnednnModule {
  static constexpr std::uint32_t version = 3;

  std::uint32_t abi_version;
  const char* onednn_version; ///< `2.6.3`, for `lanner doctor`.
  std::unique_ptr<Backend> (*create_backend)();
  const char* foreign_threads; ///< Why its loops do not run on run_team of device/team.h; empty when they do.
};

} // namespace lanner
