#include "commands/stages.h"

#include <algorithm>
#include <map>

#include <sys/resource.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/threads.h>

namespace lanner::tool {
namespace {

constexpr double least = 0.002; ///< Share of the time below which a stage is ignored.
constexpr double busy = 0.8;    ///< Share of the time from which on a lane limits the others.

std::string noun_of(const std::string& stage) {
  const std::map<std::string, std::string> nouns = {{"decode", "decoding"},
                                                    {"preprocess", "preprocessing"},
                                                    {"network", "the network"},
                                                    {"then", "the second network"},
                                                    {"draw", "drawing"},
                                                    {"encode", "encoding"},
                                                    {"report", "making pictures for the report"}};
  return nouns.at(stage);
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// -1: of all lanes.
double seconds_of(const std::vector<Stage>& stages, int lane) {
  double sum = 0;
  for (const Stage& stage : stages)
    if (lane < 0 || stage.lane == lane) sum += stage.seconds;
  return sum;
}

/// The one or two stages that take most of a lane's time.
std::vector<std::string> heaviest(std::vector<Stage> stages, int lane, double whole) {
  std::erase_if(stages, [lane](const Stage& stage) { return lane >= 0 && stage.lane != lane; });
  std::ranges::stable_sort(stages, std::ranges::greater{}, &Stage::seconds);
  std::vector<std::string> nouns{noun_of(stages.front().name)};
  if (stages.size() > 1 && stages.front().seconds < 0.6 * whole) nouns.push_back(noun_of(stages[1].name));
  return nouns;
}

} // namespace

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

FrameTimes& FrameTimes::operator+=(const FrameTimes& other) {
  decode += other.decode;
  infer += other.infer;
  encode += other.encode;
  draw += other.draw;
  preprocess += other.preprocess;
  report += other.report;
  then += other.then;
  return *this;
}

StageTimes::StageTimes(const FrameTimes& sums, double all, double cpu, bool clip)
    : seconds(all), cpu_seconds(cpu), side_by_side(clip) {
  const double network = std::max(0.0, sums.infer - sums.preprocess);
  for (const Stage& stage :
       {Stage{"decode", sums.decode, 0}, Stage{"preprocess", sums.preprocess, 1},
        Stage{"network", network, 1}, Stage{"then", sums.then, 2}, Stage{"draw", sums.draw, 2},
        Stage{"encode", sums.encode, 2}, Stage{"report", sums.report, 2}})
    if (stage.seconds > least * all) stages.push_back(stage);
}

std::string StageTimes::shares_text() const {
  std::vector<std::string> parts;
  for (const Stage& stage : stages)
    parts.push_back(fmt::format("{} {:.0f} %", stage.name, 100 * stage.seconds / seconds));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string StageTimes::limit_text() const {
  if (stages.empty() || seconds <= 0) return {};
  int lane = side_by_side ? 0 : -1; // Sequential stages count as one lane.
  for (const int other : {1, 2})
    if (lane >= 0 && seconds_of(stages, other) > seconds_of(stages, lane)) lane = other;
  const double busy_seconds = seconds_of(stages, lane);
  const std::vector<std::string> nouns = heaviest(stages, lane, busy_seconds);
  const bool one = nouns.size() == 1;
  const double share = 100 * std::min(1.0, busy_seconds / seconds);
  if (!side_by_side)
    return fmt::format("Stages run one after the other; most of the time goes into {}.",
                       fmt::join(nouns, " and "));
  std::string text =
      share >= 100 * busy
          ? fmt::format("{} limit{} the rate: ", capital(fmt::format("{}", fmt::join(nouns, " and "))),
                        one ? "s" : "")
          : fmt::format("No stage alone limits the rate; {} come{} nearest: ", fmt::join(nouns, " and "),
                        one ? "s" : "");
  text += fmt::format("{} thread was at work {:.0f} % of the time.", one ? "its" : "their", share);
  if (cpu_seconds > 0)
    text +=
        fmt::format(" The process kept {:.1f} of {} cores busy.", cpu_seconds / seconds, default_threads());
  return text;
}

} // namespace lanner::tool
