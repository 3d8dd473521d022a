#pragma once
// What all functions do first, and how they refuse.

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "fake_libraries/nvenc/device.h"
#include "fake_libraries/nvenc/session.h"

namespace lanner::fake_nvenc {

/// One call of one function, alone at a time.
class Call {
public:
  explicit Call(const char* function);

  /// The status that a test asked for.
  nvenc::NVENCSTATUS asked_for() const noexcept { return asked_for_; }
  /// Finds the session; refuses what is none.
  nvenc::NVENCSTATUS find(void* encoder);
  nvenc::NVENCSTATUS needs_settings();
  Session& session() const noexcept { return *session_; }
  const Settings& settings() const { return *session_->settings; }

  /// Records what is wrong and gives `status` back.
  template<typename... Args>
  nvenc::NVENCSTATUS refuse(nvenc::NVENCSTATUS status, fmt::format_string<Args...> words, Args&&... args) {
    return record(status, fmt::format(words, std::forward<Args>(args)...));
  }
  /// A status that is no misuse.
  nvenc::NVENCSTATUS tell(nvenc::NVENCSTATUS status, std::string words);
  /// Misuse that no status tells.
  void note(const std::string& words) { record(nvenc::NV_ENC_SUCCESS, words); }

private:
  nvenc::NVENCSTATUS record(nvenc::NVENCSTATUS status, const std::string& words);
  std::lock_guard<std::recursive_mutex> lock_;
  const char* function_;
  Session* session_ = nullptr;
  nvenc::NVENCSTATUS asked_for_ = nvenc::NV_ENC_SUCCESS;
};

/// The first thing that is wrong among many.
class Checker {
public:
  explicit Checker(Call& call) : call_(call) {}
  template<typename... Args>
  Checker& require(bool right, nvenc::NVENCSTATUS status, fmt::format_string<Args...> words, Args&&... args) {
    if (!right && status_ == nvenc::NV_ENC_SUCCESS)
      status_ = call_.refuse(status, words, std::forward<Args>(args)...);
    return *this;
  }
  bool right() const noexcept { return status_ == nvenc::NV_ENC_SUCCESS; }
  nvenc::NVENCSTATUS status() const noexcept { return status_; }

private:
  Call& call_;
  nvenc::NVENCSTATUS status_ = nvenc::NV_ENC_SUCCESS;
};

/// In the session's context, as the real library calls the driver.
class InContext {
public:
  explicit InContext(const Session& session);
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  ~InContext();
};

} // namespace lanner::fake_nvenc
