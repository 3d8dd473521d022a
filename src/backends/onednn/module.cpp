#include "backends/onednn/module.h"

#include <fmt/format.h>

#include "backends/onednn/families.h"
#include "backends/onednn/library.h"
#include "backends/onednn/openmp_calls.h"

namespace lanner::onednn {

namespace {

const char* version_text() {
  static const std::string text = [] {
    const auto* found = dnnl::version();
    return fmt::format("{}.{}.{}", found->major, found->minor, found->patch);
  }();
  return text.c_str();
}

std::unique_ptr<Backend> create_backend() {
  return std::make_unique<FamilyBackend>(FamilyTable{
      .name = "onednn", .families = families(), .version = [] { return std::string(version_text()); }});
}

} // namespace

} // namespace lanner::onednn

extern "C" const void* lanner_onednn_module() {
  static const std::string foreign_threads = lanner::onednn::bind_openmp();
  lanner::onednn::keep_no_primitives();
  static const lanner::OnednnModule module{lanner::OnednnModule::version, lanner::onednn::version_text(),
                                           lanner::onednn::create_backend, foreign_threads.c_str()};
  return &module;
}
