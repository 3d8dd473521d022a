#include <lanner/device.h>

#include <charconv>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {

std::string Device::to_string() const {
  return kind == DeviceKind::cpu ? std::string("cpu") : fmt::format("cuda:{}", index);
}

Device Device::parse(std::string_view text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {DeviceKind::cuda, 0};
  constexpr std::string_view prefix = "cuda:";
  if (text.starts_with(prefix)) {
    const char* end = text.data() + text.size();
    std::int16_t index = -1;
    const auto [stop, status] = std::from_chars(text.data() + prefix.size(), end, index);
    if (status == std::errc() && stop == end && index >= 0) return {DeviceKind::cuda, index};
  }
  fail(ErrorCode::invalid_argument,
       "device '{}' is not known; expected cpu, cuda, cuda:N, or auto where a network or clip is opened",
       text);
}

} // namespace lanner
