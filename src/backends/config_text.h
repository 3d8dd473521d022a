#pragma once
// Configurations of tactics as text: `impl=1;name=jit:avx512_core`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// Ordered fields of a configuration. Keys and values hold no `=` and no `;`.
class ConfigText {
public:
  ConfigText() = default;
  explicit ConfigText(std::span<const std::byte> bytes);

  ConfigText& set(std::string key, std::string value);
  ConfigText& set(std::string key, std::int64_t value);
  /// Throws Error{bad_data} naming the key.
  const std::string& text(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  std::vector<std::byte> bytes() const;

private:
  std::map<std::string, std::string, std::less<>> fields_;
};

} // namespace lanner
