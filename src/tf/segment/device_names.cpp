#include "tf/segment/device_names.h"

#include <cctype>

namespace lanner::tf {
namespace {

enum Part { job, replica, task, type, number, other };

DevicePlace anywhere() {
  DevicePlace place;
  place.fill(-1);
  return place;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

} // namespace

int DeviceNames::intern(std::string_view text) {
  if (text.empty() || text == "*") return -1;
  return texts_.try_emplace(std::string(text), static_cast<int>(texts_.size())).first->second;
}

/// `job:worker`, `device:GPU:0`, `gpu:0`
bool DeviceNames::read_part(std::string_view part, DevicePlace& place) {
  const std::size_t colon = part.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view key = part.substr(0, colon), value = part.substr(colon + 1);
  if (key == "job" || key == "replica" || key == "task") {
    place[key == "job" ? job : key == "replica" ? replica : task] = intern(value);
    return true;
  }
  const std::string_view device = key == "device" ? value : part;
  const std::size_t inner = device.find(':');
  place[type] = intern(upper(device.substr(0, inner)));
  place[number] = inner == std::string_view::npos ? -1 : intern(device.substr(inner + 1));
  return true;
}

DevicePlace DeviceNames::place(std::string_view name) {
  DevicePlace place = anywhere();
  if (name.empty()) return place;
  bool read = name.front() == '/';
  for (std::size_t at = 1; read && at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    read = read_part(name.substr(at, end - at), place);
    at = end + 1;
  }
  if (!read) place = anywhere();
  // A name that cannot be read agrees with itself and with no name only.
  place[other] = intern(read ? std::string_view("/") : name);
  return place;
}

std::optional<DevicePlace> merged(const DevicePlace& a, const DevicePlace& b) {
  DevicePlace both = a;
  for (std::size_t i = 0; i < both.size(); ++i) {
    if (both[i] < 0) both[i] = b[i];
    if (b[i] >= 0 && both[i] != b[i]) return std::nullopt;
  }
  return both;
}

} // namespace lanner::tf
