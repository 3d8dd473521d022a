#include "report/quality_report.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include <lanner/version.h>

#include "output/console.h"
#include "report/assets.h"
#include "report/page_parts.h"
#include "report/run_facts.h"

namespace lanner::tool {
namespace {

std::string safe(const std::string& text) {
  return html_safe(visible(text));
}

/// A PSNR without an end is null: the frames are equal.
std::string json_number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "null";
}

std::string json_array(const std::vector<FrameQuality>& quality, int digits, auto&& value_of) {
  std::string text = "[";
  for (const FrameQuality& one : quality)
    text += (text.size() > 1 ? "," : "") + json_number(value_of(one), digits);
  return text + "]";
}

/// All samples, then each plane: `[{"name": "all", "values": [...]}, ...]`.
std::string json_lines(const std::vector<FrameQuality>& quality, int digits, double FrameQuality::*all,
                       std::vector<double> FrameQuality::*planes) {
  std::string text = R"([{"name":"all","values":)" +
                     json_array(quality, digits, [&](const FrameQuality& one) { return one.*all; }) + "}";
  const std::size_t count = quality.empty() ? 0 : (quality[0].*planes).size();
  for (std::size_t i = 0; count > 1 && i < count; ++i)
    text += fmt::format(R"(,{{"name":"plane {}","values":)", i) +
            json_array(quality, digits,
                       [&](const FrameQuality& one) {
                         return i < (one.*planes).size() ? (one.*planes)[i] : std::nan("");
                       }) +
            "}";
  return text + "]";
}

std::string data_json(const std::vector<FrameQuality>& quality) {
  return fmt::format(R"({{"seconds":{},"psnr":{},"ssim":{}}})",
                     json_array(quality, 4, [](const FrameQuality& one) { return one.seconds; }),
                     json_lines(quality, 3, &FrameQuality::psnr_all, &FrameQuality::psnr),
                     json_lines(quality, 5, &FrameQuality::ssim_all, &FrameQuality::ssim));
}

struct Summary {
  double mean = 0;
  FrameQuality worst;
};

Summary summary_of(const std::vector<FrameQuality>& quality, double FrameQuality::*member) {
  Summary summary;
  for (const FrameQuality& one : quality) summary.mean += one.*member / static_cast<double>(quality.size());
  if (!quality.empty()) summary.worst = *std::ranges::min_element(quality, {}, member);
  return summary;
}

std::string number_text(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "no loss";
}

std::string at_frame(const FrameQuality& frame) {
  return fmt::format("frame {}, {:.3f} s", frame.frame, frame.seconds);
}

std::string tiles_html(const TranscodeResult& result) {
  const Summary psnr = summary_of(result.quality, &FrameQuality::psnr_all);
  const Summary ssim = summary_of(result.quality, &FrameQuality::ssim_all);
  const double rate = result.seconds > 0 ? static_cast<double>(result.bytes) * 8 / result.seconds / 1000 : 0;
  return "<div class=\"tiles\">\n" +
         tile("PSNR, mean", number_text(psnr.mean, 2), std::isfinite(psnr.mean) ? "dB" : "",
              "all samples of a frame") +
         tile("PSNR, worst", number_text(psnr.worst.psnr_all, 2),
              std::isfinite(psnr.worst.psnr_all) ? "dB" : "", at_frame(psnr.worst)) +
         tile("SSIM, mean", number_text(ssim.mean, 4), "", "1 is equal") +
         tile("SSIM, worst", number_text(ssim.worst.ssim_all, 4), "", at_frame(ssim.worst)) +
         tile("frames", std::to_string(result.frames), "", fmt::format("{:.3f} s", result.seconds)) +
         tile("size", fmt::format("{:.1f}", static_cast<double>(result.bytes) / 1000), "kB",
              fmt::format("{:.0f} kbit/s with all streams", rate)) +
         "</div>\n";
}

std::string plot_html(const char* id, const char* title, const char* note) {
  return fmt::format(
      "<section id=\"{0}\"><h2>{1}</h2><p class=\"note\">{2}</p><div class=\"card\"><div "
      "class=\"legend\" data-legend=\"{0}\"></div><div data-plot=\"{0}\"></div></div></section>\n",
      id, title, note);
}

std::string facts_html(const QualityReportParts& parts) {
  std::string html = "<section id=\"details\"><h2>Details</h2><div class=\"card\"><dl class=\"facts\">\n";
  const auto add = [&](const char* name, const std::string& text) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, safe(text));
  };
  add("date", date());
  add("command", command_line());
  add("clip", parts.input);
  for (const std::string& path : parts.result.paths) add("new clip", named_size(path));
  if (parts.result.paths.empty()) add("new clip", parts.output);
  return html + "</dl></div></section>\n";
}

} // namespace

void write_quality_report(OutputFile& file, const QualityReportParts& parts) {
  const std::string title = fmt::format("{} as {}", file_name(parts.input), file_name(parts.output));
  std::string main = fmt::format("<h1>{}</h1>\n<p class=\"lead\">How close the encoded frames are to those "
                                 "that were given to the encoder.</p>\n",
                                 safe(title));
  main += tiles_html(parts.result);
  main += plot_html("psnr", "PSNR",
                    "Peak signal-to-noise ratio of each frame in dB; a frame that is equal to its source has "
                    "none and leaves a gap.");
  main += plot_html("ssim", "SSIM", "Structural similarity of each frame, from 8x8 pixels; 1 is equal.");
  main += facts_html(parts);
  main += fmt::format("<footer>Made by lanner {}. This page holds everything that it shows and loads "
                      "nothing.</footer>\n",
                      std::string(version()));
  const std::string data = data_json(parts.result.quality);
  write_page(file, {.title = safe(title) + " - Lanner transcode",
                    .kind = "transcode",
                    .styles = {page_css},
                    .main = main,
                    .data = data,
                    .scripts = {theme_js, quality_js}});
  file.commit();
}

} // namespace lanner::tool
