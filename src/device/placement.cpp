#include <lanner/placement.h>

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {

std::vector<Device> parse_devices(std::string_view text) {
  std::vector<Device> devices;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(',', begin);
    devices.push_back(Device::parse(text.substr(begin, end - begin)));
    check(std::ranges::count(devices, devices.back()) == 1, ErrorCode::invalid_argument,
          "devices '{}': {} comes twice", text, devices.back().to_string());
  }
  return devices;
}

std::string devices_text(const std::vector<Device>& devices) {
  std::string text;
  for (const Device device : devices) text += (text.empty() ? "" : ",") + device.to_string();
  return text;
}

} // namespace lanner
