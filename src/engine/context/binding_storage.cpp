// Storages of inputs and outputs as text.

#include <charconv>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

constexpr std::string_view pitch_key = "pitch=";

std::int64_t parse_pitch(std::string_view text, std::string_view whole) {
  std::int64_t pitch = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pitch);
  check(error == std::errc() && end == text.data() + text.size() && pitch > 0, ErrorCode::invalid_argument,
        "storage '{}': pitch '{}', expected bytes from row to row", whole, text);
  return pitch;
}

} // namespace

BindingStorage BindingStorage::parse(std::string_view text) {
  BindingStorage storage;
  std::string_view rest = text;
  check(!text.ends_with(':'), ErrorCode::invalid_argument, "storage '{}': nothing after its last colon",
        text);
  for (bool first = true; first || !rest.empty(); first = false) {
    const std::string_view part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    check(!part.empty(), ErrorCode::invalid_argument,
          "storage '{}': expected LAYOUT, LAYOUT:TYPE or row:TYPE:pitch=BYTES, such as acdb:f16", text);
    if (first)
      storage.layout = part;
    else if (part.starts_with(pitch_key))
      storage.row_pitch = parse_pitch(part.substr(pitch_key.size()), text);
    else
      storage.dtype = part == "fp32" ? DType::f32 : parse_dtype(part);
  }
  return storage;
}

} // namespace lanner
