// lanner doctor: what this machine offers, what is missing and how to get it.

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/decoder.h>
#include <lanner/doctor.h>
#include <lanner/draw.h>
#include <lanner/encoder.h>
#include <lanner/machine_limits.h>
#include <lanner/version.h>
#include <lanner/video_support.h>

#include "command.h"
#include "output/console.h"
#include "output/json_text.h"
#include "program.h"

namespace lanner::tool {
namespace {

struct DoctorOptions {
  bool json = false, measure = false;
  std::string device = "auto";
};

/// The usual ones of the hundreds of codecs that FFmpeg lists.
constexpr const char* wanted_decoders[] = {"h264",  "hevc",       "libdav1d", "av1",    "vp9", "vp8",
                                           "mpeg4", "mpeg2video", "mjpeg",    "prores", "png"};
constexpr const char* wanted_encoders[] = {"libx264", "libx265", "libsvtav1", "libaom-av1", "libvpx-vp9",
                                           "mpeg4",   "mjpeg",   "ffv1",      "png"};

struct Row {
  std::string state, name, detail; ///< State: `ok`, `none` (may be missing), `MISSING`.
};

template<std::size_t N>
void add_codecs(std::vector<Row>& rows, const char* heading, const char* const (&wanted)[N],
                const std::vector<std::string>& known) {
  std::vector<std::string> there, absent;
  for (const char* name : wanted)
    (std::ranges::find(known, name) != known.end() ? there : absent).emplace_back(name);
  std::string detail = fmt::format("{} of {} names", fmt::join(there, " "), known.size());
  if (!absent.empty()) detail += fmt::format("; not in this FFmpeg: {}", fmt::join(absent, " "));
  rows.push_back({"ok", heading, detail});
}

std::vector<Row> video_rows(const VideoSupport& video) {
  if (!video.available)
    return {{"MISSING", "FFmpeg",
             video.reason + "; remedy: apt-get install libavformat-dev libavcodec-dev libswscale-dev "
                            "libswresample-dev, and build "
                            "again"}};
  std::vector<Row> rows{{"ok", "FFmpeg", fmt::format("{} by {}", video.version, video.path)}};
  add_codecs(rows, "decoders", wanted_decoders, video.decoders);
  add_codecs(rows, "encoders", wanted_encoders, video.encoders);
  return rows;
}

std::vector<Row> gpu_rows(const MachineFacts& facts) {
  std::vector<Row> rows;
  const bool usable = facts.driver.found;
  if (facts.gpus.empty())
    rows.push_back({"none", "GPU", facts.driver.detail + "; networks run on the CPU (--device auto)"});
  else
    rows.push_back({usable ? "ok" : "MISSING", "driver",
                    facts.driver.detail + (usable ? "" : "; networks run on the CPU (--device auto)")});
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    const GpuStatus& gpu = facts.gpus[i];
    rows.push_back({usable ? "ok" : "none", fmt::format("cuda:{}", i),
                    fmt::format("{}, {}, compute capability {}.{}", gpu.name, bytes_text(gpu.memory_bytes),
                                gpu.major, gpu.minor)});
  }
  for (const PartStatus& library : facts.gpu_libraries)
    rows.push_back({library.found ? "ok" : "MISSING", library.name, library.detail});
  if (facts.cuda_kernels == 0)
    rows.push_back({"none", "GPU kernels", "not in this build: networks run on the CPU"});
  return rows;
}

/// What each GPU decodes, a row per codec, chroma format and depth.
std::vector<Row> decoding_rows(const MachineFacts& facts) {
  std::vector<Row> rows;
  if (facts.gpus.empty()) rows.push_back({"none", "NVDEC", "no GPU: video is decoded by FFmpeg"});
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    const Device device{DeviceKind::cuda, static_cast<std::int16_t>(i)};
    try {
      std::vector<std::string> refused;
      for (const DecoderCapability& can : decoder_capabilities(device)) {
        const std::string kind = fmt::format("{} {} {} bit", can.codec, can.chroma, can.bit_depth);
        if (!can.supported) {
          refused.push_back(kind);
          continue;
        }
        rows.push_back({"ok", device.to_string(),
                        fmt::format("{:<23} {:>5} x {:<5} at most, {:>3} x {:<3} at least, {} engine{}", kind,
                                    can.max_width, can.max_height, can.min_width, can.min_height, can.engines,
                                    can.engines == 1 ? "" : "s")});
      }
      if (!refused.empty())
        rows.push_back(
            {"none", device.to_string(), fmt::format("not decoded: {}", fmt::join(refused, ", "))});
    } catch (const Error& error) {
      rows.push_back({"none", device.to_string(), error.message() + "; video is decoded by FFmpeg"});
    }
  }
  return rows;
}

/// What the NVENC of each GPU encodes, a row per codec.
std::vector<Row> encoding_rows(const MachineFacts& facts) {
  std::vector<Row> rows;
  if (facts.gpus.empty()) rows.push_back({"none", "NVENC", "no GPU: video is encoded by FFmpeg"});
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    const Device device{DeviceKind::cuda, static_cast<std::int16_t>(i)};
    try {
      for (const EncoderCapability& can : encoder_capabilities(device)) {
        if (!can.supported) {
          rows.push_back({"none", device.to_string(), fmt::format("not encoded: {}", can.codec)});
          continue;
        }
        const auto value = [&](const char* name) { return can.values.at(name); };
        const auto also = [&](const char* name, const char* words) { return value(name) > 0 ? words : ""; };
        rows.push_back(
            {"ok", device.to_string(),
             fmt::format("{:<4} {:>5} x {:<5} at most, {:>3} x {:<3} at least, {} B-frames, {} "
                         "engine{}{}{}{}",
                         can.codec, value("width_max"), value("height_max"), value("width_min"),
                         value("height_min"), value("num_max_bframes"), value("num_encoder_engines"),
                         value("num_encoder_engines") == 1 ? "" : "s",
                         also("support_10bit_encode", ", 10 bit"), also("support_yuv444_encode", ", 4:4:4"),
                         also("support_lossless_encode", ", lossless"))});
      }
    } catch (const Error& error) {
      rows.push_back({"none", device.to_string(), error.message() + "; video is encoded by FFmpeg"});
    }
  }
  return rows;
}

std::vector<Row> machine_rows(const MachineFacts& facts) {
  std::vector<Row> rows;
  rows.push_back({"ok", "processor", facts.cpu});
  rows.push_back({"ok", "cores",
                  fmt::format("{}, of which this process may use {}; {} threads by default", facts.cores,
                              facts.usable_cores, facts.threads)});
  rows.push_back({"ok", "instructions", fmt::format("{}", fmt::join(facts.features, " "))});
  rows.push_back(
      {"ok", "memory",
       fmt::format("{}; caches of a core {}, {}, {}", bytes_text(facts.memory_bytes),
                   bytes_text(facts.cache_l1), bytes_text(facts.cache_l2), bytes_text(facts.cache_l3))});
  return rows;
}

std::vector<Row> part_rows(const MachineFacts& facts) {
  std::vector<Row> rows;
  for (const PartStatus& part : facts.backends) {
    const std::string remedy =
        part.name == "onednn"
            ? "; networks run on slow reference loops; remedy: apt-get install libdnnl-dev, and build again"
            : "";
    // The CPU's features are in the row of its instruction sets.
    const std::string detail =
        part.name == "cpu" ? "Lanner's own kernels, with " + facts.kernels : part.detail;
    rows.push_back({part.found ? "ok" : "MISSING", part.name, part.found ? detail : detail + remedy});
  }
  return rows;
}

std::vector<Row> other_rows(const MachineFacts& facts) {
  std::vector<Row> rows;
  const std::string dot = find_program("dot");
  rows.push_back({dot.empty() ? "none" : "ok", "Graphviz",
                  dot.empty()
                      ? "no dot on PATH: reports lay out graphs themselves; remedy: apt-get install graphviz"
                      : dot});
  const FontSupport fonts = find_font();
  const std::string found =
      fonts.path == fonts.cjk_path || fonts.cjk_path.empty()
          ? fonts.path
          : fmt::format("{}{}{}", fonts.path, fonts.path.empty() ? "" : ", ", fonts.cjk_path);
  rows.push_back({fonts.reason.empty() ? "ok" : "none", "fonts",
                  fonts.reason.empty() ? found
                                       : fmt::format("{}{}{}; other letters are drawn as empty boxes", found,
                                                     found.empty() ? "" : "; ", fonts.reason)});
  rows.push_back({facts.cache_folder.empty() ? "none" : "ok", "cache",
                  facts.cache_folder.empty() ? "nowhere: timings are not cached; set LANNER_CACHE_DIR"
                                             : facts.cache_folder.string()});
  for (const std::string& problem : facts.problems) rows.push_back({"none", "environment", problem});
  return rows;
}

struct Section {
  const char* name;
  std::vector<Row> rows;
};

std::vector<Section> sections() {
  const MachineFacts facts = machine_facts();
  return {{"machine", machine_rows(facts)},
          {"networks", part_rows(facts)},
          {"video", video_rows(video_support())},
          {"gpu", gpu_rows(facts)},
          {"decoding", decoding_rows(facts)},
          {"encoding", encoding_rows(facts)},
          {"other", other_rows(facts)}};
}

std::vector<Row> speed_rows(const MachineLimits& limits) {
  const auto row = [](const char* name, std::string detail) { return Row{"ok", name, std::move(detail)}; };
  std::vector<Row> rows{row("products", fmt::format("{:.3g} GFLOP/s in fp32, {:.3g} in halves",
                                                    limits.operations / 1e9, limits.half_operations / 1e9)),
                        row("memory", fmt::format("{:.3g} GB/s, {:.3g} in cache", limits.bytes / 1e9,
                                                  limits.cached_bytes / 1e9)),
                        row("start", fmt::format("{:.3g} us per kernel, {:.3g} more with several threads",
                                                 limits.start * 1e6, limits.team_start * 1e6))};
  if (limits.copied_bytes > 0)
    rows.push_back(row("copies", fmt::format("{:.3g} GB/s to the host, {:.3g} us for the smallest",
                                             limits.copied_bytes / 1e9, limits.copy_start * 1e6)));
  return rows;
}

/// Of one thread of a CPU, or of a whole GPU.
Section measured(const std::string& name) {
  const Device device = name == "auto" ? automatic_device() : Device::parse(name);
  return {device.is_host() ? "speed of one thread" : "speed of the GPU", speed_rows(measure_machine(device))};
}

int run_doctor(const DoctorOptions& options) {
  std::vector<Section> found = sections();
  if (options.measure) found.push_back(measured(options.device));
  bool healthy = true;
  Json json{{"version", std::string(version())}};
  std::string text = fmt::format("lanner {}\n", version());
  for (const Section& section : found) {
    text += fmt::format("\n{}\n", section.name);
    for (const Row& row : section.rows) {
      healthy = healthy && row.state != "MISSING";
      text += fmt::format("  {:<8} {:<13} {}\n", row.state, row.name, one_line(row.detail));
      json[section.name].push_back({{"state", row.state}, {"name", row.name}, {"detail", row.detail}});
    }
  }
  json["healthy"] = healthy;
  text += healthy ? "\nNothing that Lanner needs is missing.\n"
                  : "\nSomething is missing: see the remedies above.\n";
  if (options.json)
    print_json(json);
  else
    print_text(text);
  return healthy ? 0 : 2;
}

} // namespace

void add_doctor(Command& program, Action& action) {
  auto [command, options] = make_command<DoctorOptions>(
      program, action, "doctor",
      "Check this machine: what is found and where, what is missing, and how to get it.", run_doctor);
  command.add_flag("--json", options->json, "As one JSON object");
  command.add_flag(
      "--measure", options->measure,
      "Measure how fast the machine is, for the estimates of later builds; use nothing else meanwhile");
  command.add_option("--device", options->device, "Device to --measure: auto, cpu or cuda:0");
  command.footer("Exit code 2 when a part that Lanner needs is missing.\n\nExamples:\n  lanner doctor\n  "
                 "lanner doctor --json | jq .video\n  lanner doctor --measure");
}

} // namespace lanner::tool
