#include <string>
#include <vector>

#include "base/check.h"
#include "fuzz/targets.h"
#include "video/index/index_file.h"
#include "video/index/span_plan.h"
#include "video/read/sampling.h"

namespace lanner::fuzz {

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

} // namespace

/// The contents of an index file after key and identity, without the digest; then used as readers do.
void read_index(std::span<const std::byte> input) {
  const std::string key(32, 'k');
  std::vector<std::byte> file = bytes_of("LNRINDEX\2" + key + std::string(32, 'i'));
  file.insert(file.end(), input.begin(), input.end());
  const std::vector<std::byte> digest = bytes_of(index_digest(file));
  file.insert(file.end(), digest.begin(), digest.end());
  Limits limits = small_limits();
  limits.frames = 1 << 16;
  const auto index = lanner::read_index(file, key, limits);
  const ContentPtr content = content_of(*index);
  const SpanPlan plan(*content);
  std::int64_t frames = 0;
  for (const SpanJob& job : jobs_from(*content, plan, 0)) frames += job.end - job.begin;
  check(frames == content->size(), ErrorCode::internal, "jobs of {} frames, there are {}", frames,
        content->size());
  if (content->size() == 0) return;
  jobs_for(*content, plan, {0, content->size() / 2, content->size() - 1});
  sample(*index, 7, limits);
  indices_played_in(*index, -1e9, 1e9);
  sample(*index, Rational{3, 7}, limits);
}

} // namespace lanner::fuzz
