#pragma once
// What Python reads of this library, and what is said to the user.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace lanner::tensorflow_ops {

/// Text between quotation marks.
std::string json_text(std::string_view text);

/// A JSON object under construction.
class JsonObject {
public:
  void add(std::string_view name, std::string_view value) { add_raw(name, json_text(value)); }
  void add(std::string_view name, const std::string& value) { add_raw(name, json_text(value)); }
  void add(std::string_view name, std::uint64_t value) { add_raw(name, std::to_string(value)); }
  void add(std::string_view name, double value) { add_raw(name, fmt::format("{:f}", value)); }
  void add(std::string_view name, std::same_as<bool> auto value) { add_raw(name, value ? "true" : "false"); }
  void add_raw(std::string_view name, std::string_view json);
  std::string text() const { return "{" + members_ + "}"; }

private:
  std::string members_;
};

/// A warning among TensorFlow's own messages, unless TF_CPP_MIN_LOG_LEVEL leaves warnings out.
void warn(std::string_view message);

} // namespace lanner::tensorflow_ops
