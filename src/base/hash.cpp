#include "base/hash.h"

#include <fmt/format.h>
// Gives the state a complete type, and inlines calls.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lanner {
namespace {

std::string to_hex(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

} // namespace

struct Hasher::State {
  XXH3_state_t state;
};

std::string hash_hex(std::span<const std::byte> bytes) {
  return to_hex(XXH3_128bits(bytes.data(), bytes.size()));
}

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->state);
}
Hasher::~Hasher() = default;
void Hasher::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->state, bytes.data(), bytes.size());
}
std::string Hasher::hex() const {
  return to_hex(XXH3_128bits_digest(&state_->state));
}

} // namespace lanner
