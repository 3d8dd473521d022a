#pragma once
// Content hashes (XXH3, 128 bits). They tell contents apart and find damage; they are no protection against
// deliberate changes.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lanner {

/// XXH3-128 of `bytes` in its canonical form: 32 lower-case hex digits.
std::string hash_hex(std::span<const std::byte> bytes);

/// The same for bytes that come in pieces.
class Hasher {
public:
  Hasher();
  ~Hasher();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  /// The hash of all bytes so far.
  std::string hex() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
