#include "report/report.h"

#include <cmath>
#include <filesystem>
#include <system_error>

#include <sys/resource.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/doctor.h>
#include <lanner/version.h>

#include "console.h"
#include "report/assets.h"
#include "report/graph_layout.h"
#include "statistics.h"

namespace lanner::tool {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t max_spans = 6000;

std::string base64(const std::vector<std::byte>& bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) {
      return i + k < bytes.size() ? std::to_integer<unsigned>(bytes[i + k]) : 0u;
    };
    const unsigned group = at(0) << 16 | at(1) << 8 | at(2);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string data_uri(const std::vector<std::byte>& jpeg) {
  return "data:image/jpeg;base64," + base64(jpeg);
}

std::string file_name(const std::string& path) {
  return fs::path(path).filename().string();
}

std::string named_size(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? file_name(path) : fmt::format("{}, {}", file_name(path), bytes_text(size));
}

std::string inputs_text(const std::vector<RunInput>& inputs) {
  return inputs.size() == 1 ? file_name(inputs[0].path)
                            : fmt::format("{} and {} more", file_name(inputs[0].path), inputs.size() - 1);
}

std::string preprocess_text(const PictureInput& picture) {
  const Json spec = Json::parse(picture.spec.to_json());
  return fmt::format("{}x{}, {}, {}, {}, {}, range {}, mean {}, std {} (by {})", picture.spec.width,
                     picture.spec.height, spec["channels"].get<std::string>(),
                     spec["layout"].get<std::string>(), spec["resize"].get<std::string>(),
                     spec["fit"].get<std::string>(), spec["range"].dump(), spec["mean"].dump(),
                     spec["std"].dump(), picture.source);
}

/// To a microsecond: what the clock is good for, and half the bytes.
double rounded(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
}

std::vector<double> times_of(const Recorder& recorder, double FrameTimes::*kind) {
  std::vector<double> values;
  for (const FrameTimes& times : recorder.times()) values.push_back(rounded(times.*kind));
  return values;
}

std::int64_t pictures(const RunTotals& totals) {
  return totals.frames + totals.pictures;
}

Json tile(const char* what, const std::string& value, const char* unit, const std::string& more) {
  return {{"what", what}, {"value", value}, {"unit", unit}, {"more", more}};
}

Json tiles_json(const ReportParts& parts) {
  Json tiles = Json::array();
  const double rate =
      parts.totals.seconds > 0 ? static_cast<double>(pictures(parts.totals)) / parts.totals.seconds : 0;
  tiles.push_back(tile("End to end",
                       fmt::format("{:.{}f}", rate,
                                   rate < 10    ? 2
                                   : rate < 100 ? 1
                                                : 0),
                       parts.totals.clips > 0 ? "frames/s" : "images/s",
                       fmt::format("{} in {:.2f} s", pictures(parts.totals), parts.totals.seconds)));
  const std::vector<double> infer = times_of(parts.recorder, &FrameTimes::infer);
  const double median = quantile(infer, 0.5) * 1e3, slow = quantile(infer, 0.99) * 1e3;
  tiles.push_back(tile("Inference, median", fmt::format("{:.2f}", median), "ms",
                       parts.batch > 1 ? fmt::format("a frame, in batches of {}", parts.batch) : "a frame"));
  tiles.push_back(tile("Inference, 99 %", fmt::format("{:.2f}", slow), "ms", "within"));
  if (parts.accuracy) {
    const Accuracy& accuracy = *parts.accuracy;
    tiles.push_back(tile("Mean IoU", fmt::format("{:.3f}", accuracy.mean_iou()), "",
                         fmt::format("{} objects", accuracy.objects())));
    tiles.push_back(tile("Class accuracy", fmt::format("{:.1f}", accuracy.class_accuracy() * 100), "%",
                         fmt::format("of {} found", accuracy.found())));
    tiles.push_back(tile("Recall", fmt::format("{:.1f}", accuracy.recall() * 100), "%",
                         fmt::format("precision {:.1f} %", accuracy.precision() * 100)));
  }
  return tiles;
}

Json facts_json(const ReportParts& parts) {
  const MachineFacts machine = machine_facts();
  Json facts = Json::array();
  const auto add = [&](const char* name, const std::string& text) { facts.push_back({name, text}); };
  add(parts.facts.plan ? "plan" : "model", named_size(parts.model));
  for (const RunInput& input : parts.inputs) add(input.still ? "image" : "clip", named_size(input.path));
  for (const Binding& input : parts.engine.inputs()) add("input", input.to_string());
  for (const Binding& output : parts.engine.outputs()) add("output", output.to_string());
  add("task", parts.task);
  add("preprocessing", preprocess_text(parts.picture));
  if (parts.batch > 1) add("batch", std::to_string(parts.batch));
  add("device", fmt::format("{}, {} threads of the network", machine.cpu, parts.engine.threads()));
  add("kernels", machine.kernels);
  for (const PartStatus& backend : machine.backends)
    if (backend.found && backend.name != "reference")
      add("backend", backend.detail.substr(0, backend.detail.find(" by ")));
  return facts;
}

Json frames_json(const Recorder& recorder, bool several) {
  Json frames = Json::array();
  for (const ShownFrame& frame : recorder.frames()) {
    const std::string name = frame.frame < 0 ? file_name(frame.source) : fmt::format("frame {}", frame.frame);
    frames.push_back({{"name", several && frame.frame >= 0 ? file_name(frame.source) + ", " + name : name},
                      {"short", name},
                      {"caption", frame.caption},
                      {"input", data_uri(frame.input)},
                      {"result", data_uri(frame.result)}});
  }
  return frames;
}

Json accuracy_json(const Accuracy& accuracy) {
  Json json{{"frames", accuracy.frames},
            {"objects", accuracy.objects()},
            {"detections", accuracy.detections},
            {"mean_iou", accuracy.mean_iou()},
            {"class_accuracy", accuracy.class_accuracy()},
            {"recall", accuracy.recall()},
            {"precision", accuracy.precision()},
            {"histogram", accuracy.histogram},
            {"classes", Json::array()}};
  for (const Accuracy::Class& one : accuracy.classes)
    json["classes"].push_back(
        {{"label", one.label},
         {"drawn", one.drawn},
         {"found", one.found},
         {"said", one.said},
         {"mean_iou", one.drawn > 0 ? one.overlap / static_cast<double>(one.drawn) : 0.0}});
  return json;
}

Json nodes_json(const Recorder& recorder) {
  Json nodes = Json::array();
  for (const StepProfile& step : recorder.profile())
    nodes.push_back({{"name", step.name},
                     {"op", step.op},
                     {"backend", step.backend},
                     {"kernel", step.kernel},
                     {"sources", step.sources},
                     {"bytes", step.bytes},
                     {"flops", step.flops},
                     {"runs", step.runs},
                     {"seconds", step.seconds}});
  return nodes;
}

Json timeline_json(const Trace& trace) {
  const std::vector<TraceSpan> spans = trace.spans();
  const double start = spans.empty() ? 0 : spans.front().start;
  Json json{
      {"spans", Json::array()},
      {"left_out", spans.size() > max_spans ? spans.size() - max_spans + trace.dropped() : trace.dropped()}};
  for (std::size_t i = 0; i < std::min(spans.size(), max_spans); ++i)
    json["spans"].push_back({spans[i].track, spans[i].name, rounded(spans[i].start - start),
                             rounded(spans[i].end - start), spans[i].frame});
  return json;
}

Json drawing_json(const char* title, const char* note, const nlohmann::json& graph,
                  const CancelToken& cancel) {
  Drawing drawing = to_drawing(graph);
  place(drawing, cancel);
  Json json{{"title", title},
            {"note", note},
            {"width", drawing.width},
            {"height", drawing.height},
            {"operators", drawing.operators},
            {"node_width", node_width},
            {"node_height", node_height},
            {"nodes", Json::array()},
            {"curves", drawing.curves}};
  for (const DrawnNode& node : drawing.nodes)
    json["nodes"].push_back({{"title", node.title},
                             {"detail", node.detail},
                             {"group", node.group},
                             {"tip", node.tip},
                             {"x", node.x},
                             {"y", node.y}});
  return json;
}

Json memory_json(const ReportParts& parts, const nlohmann::json& plan) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"weight_bytes", plan["memory"]["weight_bytes"].get<std::uint64_t>()},
          {"arena_bytes", parts.recorder.arena_bytes()},
          {"peak_bytes", static_cast<std::uint64_t>(usage.ru_maxrss) * 1024}};
}

Json report_json(const ReportParts& parts, const CancelToken& cancel) {
  const nlohmann::json plan = nlohmann::json::parse(parts.engine.explain_json());
  const Recorder& recorder = parts.recorder;
  const std::string title = fmt::format("{} on {}", file_name(parts.model), inputs_text(parts.inputs));
  Json json{{"title", title},
            {"version", std::string(version())},
            {"lead", fmt::format("{} {} through {} on the CPU with {} threads: decoded, preprocessed, run{}.",
                                 pictures(parts.totals), parts.totals.clips > 0 ? "frames" : "images",
                                 file_name(parts.model), parts.engine.threads(),
                                 parts.inputs[0].output.empty() ? "" : ", marked and encoded")},
            {"tiles", tiles_json(parts)},
            {"facts", facts_json(parts)},
            {"frames", frames_json(recorder, parts.inputs.size() > 1)},
            {"accuracy", parts.accuracy ? accuracy_json(*parts.accuracy) : Json()},
            {"nodes", nodes_json(recorder)},
            {"times",
             {{"decode", times_of(recorder, &FrameTimes::decode)},
              {"infer", times_of(recorder, &FrameTimes::infer)},
              {"encode", times_of(recorder, &FrameTimes::encode)}}},
            {"speed_note", "Every frame's own times. Decoding runs ahead on a thread of its own, beside the "
                           "network, which preprocesses."},
            {"timeline", timeline_json(recorder.trace())},
            {"memory", memory_json(parts, plan)},
            {"graphs", Json::array()}};
  json["graphs"].push_back(drawing_json(parts.facts.plan ? "Portable graph" : "Before",
                                        parts.facts.plan ? "As the plan keeps it." : "As imported.",
                                        nlohmann::json::parse(parts.facts.engine->graph_json()), cancel));
  json["graphs"].push_back(drawing_json("After", "As it runs.", plan, cancel));
  return json;
}

/// Names may hold what would turn or hide other text.
void make_visible(Json& json) {
  if (json.is_string()) json = visible(json.get_ref<const std::string&>());
  if (!json.is_structured()) return;
  for (Json& child : json) make_visible(child);
}

/// For text inside a <script> of data: `<` could end it.
std::string script_safe(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else if (c == '>')
      text += "\\u003e";
    else if (c == '&')
      text += "\\u0026";
    else
      text += c;
  }
  return text;
}

std::string html_safe(const std::string& plain) {
  std::string text;
  for (const char c : plain) {
    if (c == '<')
      text += "&lt;";
    else if (c == '>')
      text += "&gt;";
    else if (c == '&')
      text += "&amp;";
    else
      text += c;
  }
  return text;
}

/// Puts parts in the places of the page that name them, in their order; what is put in is not looked at
/// again.
void write_page(OutputFile& file,
                std::initializer_list<std::pair<std::string_view, std::string_view>> parts) {
  std::string_view rest = page_html;
  for (const auto& [name, text] : parts) {
    const std::string place = fmt::format("{{{{{}}}}}", name);
    const std::size_t at = rest.find(place);
    file.write(rest.substr(0, at));
    file.write(text);
    rest.remove_prefix(at + place.size());
  }
  file.write(rest);
}

} // namespace

void write_report(OutputFile& file, const ReportParts& parts, const CancelToken& cancel) {
  Json json = report_json(parts, cancel);
  make_visible(json);
  cancel.check();
  const std::string data = script_safe(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  write_page(file, {{"title", html_safe(json["title"].get<std::string>() + " - Lanner report")},
                    {"style", page_css},
                    {"data", data},
                    {"script", page_js}});
  file.commit();
}

} // namespace lanner::tool
