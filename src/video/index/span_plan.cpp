#include "video/index/span_plan.h"

#include <algorithm>

namespace lanner {

namespace {

// A decoder with threads of its own needs some frames to get going.
constexpr std::int64_t frames_worth_a_job = 48;

// For each ordinal the first frame among its packet and those behind it.
std::vector<std::int64_t> first_frames_behind(const IndexContent& content) {
  std::vector<std::int64_t> first(content.index_of.size() + 1, content.size());
  for (std::size_t i = content.index_of.size(); i-- > 0;) {
    const std::int64_t index = content.index_of[i];
    first[i] = index < 0 ? first[i + 1] : std::min(first[i + 1], index);
  }
  return first;
}

bool resets(EntryPoint entry) {
  return entry == EntryPoint::clean || entry == EntryPoint::broken_link;
}

// Pictures that are shown before a wanted one and decoded after it are needed as well: that it comes behind
// them proves its number.
std::int64_t last_ordinal(const IndexContent& content, const SpanJob& job) {
  if (!content.named) return content.table.size() - 1; // some frame does not tell its packet
  std::int64_t last = 0;
  const std::int64_t end = job.wanted.empty() ? job.end : job.wanted.back() + 1;
  for (std::int64_t i = job.begin; i < end; ++i) {
    const std::int64_t ordinal = content.frame(i).ordinal;
    if (job.wants(i) || !content.table[ordinal].disposable) last = std::max(last, ordinal);
  }
  return last;
}

} // namespace

SpanPlan::SpanPlan(const IndexContent& content) : spans_{{0, 0, false}}, frames_(content.size()) {
  if (!content.named) return;
  const std::vector<std::int64_t> behind = first_frames_behind(content);
  std::int64_t latest = -1; // Frame among the packets before.
  for (std::size_t i = 0; i < content.index_of.size(); ++i) {
    const PacketEntry& packet = content.table.packets()[i];
    const std::int64_t first = resets(packet.start) ? behind[i] : content.index_of[i];
    const bool usable = i > 0 && is_exact(packet.start) && !packet.delayed && first >= 0 && first < frames_;
    if (usable && latest < first && spans_.back().first < first)
      spans_.push_back({static_cast<std::int64_t>(i), first, behind[i] < first});
    latest = std::max(latest, content.index_of[i]);
  }
}

std::size_t SpanPlan::span_of(std::int64_t frame) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), frame,
                                      [](std::int64_t i, const Span& span) { return i < span.first; });
  return static_cast<std::size_t>(after - spans_.begin()) - 1;
}

bool SpanJob::wants(std::int64_t frame) const {
  if (frame < begin || frame >= end) return false;
  return wanted.empty() || std::binary_search(wanted.begin(), wanted.end(), frame);
}

std::vector<SpanJob> jobs_for(const IndexContent& content, const SpanPlan& plan,
                              const std::vector<std::int64_t>& indices) {
  std::vector<SpanJob> jobs;
  for (const std::int64_t i : indices) {
    const std::size_t span = plan.span_of(i);
    if (jobs.empty() || jobs.back().span != span)
      jobs.push_back({span, plan[span].first, plan.end_of(span), {}, 0});
    if (jobs.back().wanted.empty() || jobs.back().wanted.back() != i) jobs.back().wanted.push_back(i);
  }
  for (SpanJob& job : jobs) job.last = last_ordinal(content, job);
  return jobs;
}

std::vector<SpanJob> jobs_from(const IndexContent& content, const SpanPlan& plan, std::int64_t first) {
  std::vector<SpanJob> jobs;
  if (first >= content.size()) return jobs;
  for (std::size_t span = plan.span_of(first); span < plan.size(); ++span) {
    if (jobs.empty() || jobs.back().end - jobs.back().begin >= frames_worth_a_job)
      jobs.push_back({span, std::max(first, plan[span].first), 0, {}, 0});
    jobs.back().end = plan.end_of(span);
  }
  for (SpanJob& job : jobs) job.last = last_ordinal(content, job);
  return jobs;
}

} // namespace lanner
