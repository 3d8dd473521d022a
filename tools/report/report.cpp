#include "report/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <sys/resource.h>

#include <fmt/format.h>

#include <lanner/calibration.h>
#include <lanner/version.h>

#include "output/console.h"
#include "output/json_text.h"
#include "output/profile_json.h"
#include "output/statistics.h"
#include "report/assets.h"
#include "report/graph_layout.h"
#include "report/page_parts.h"
#include "report/run_facts.h"

namespace lanner::tool {
namespace {

constexpr std::size_t max_spans = 6000;

std::string inputs_text(const std::vector<RunInput>& inputs) {
  return inputs.size() == 1 ? file_name(inputs[0].path)
                            : fmt::format("{} and {} more", file_name(inputs[0].path), inputs.size() - 1);
}

/// Rounded to a microsecond, the clock's resolution, which halves the bytes.
double rounded(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
}

std::vector<double> times_of(const Recorder& recorder, double FrameTimes::*kind) {
  std::vector<double> values;
  for (const FrameTimes& times : recorder.times()) values.push_back(rounded(times.*kind));
  return values;
}

/// For each picture, or as even shares for each batch of a clip's frames, where another thread does
/// it.
std::vector<double> preprocess_times(const Recorder& recorder, int batch) {
  std::vector<double> values = times_of(recorder, &FrameTimes::preprocess);
  if (std::ranges::any_of(values, [](double value) { return value > 0; })) return values;
  values.clear();
  for (const TraceSpan& span : recorder.trace().spans())
    if (span.name == "preprocess") values.push_back(rounded((span.end - span.start) / batch));
  return values;
}

std::int64_t pictures(const RunTotals& totals) {
  return totals.frames + totals.pictures;
}

Json tile(const char* what, const std::string& value, const char* unit, const std::string& more) {
  return {{"what", what}, {"value", value}, {"unit", unit}, {"more", more}};
}

/// Whether the network itself takes images, so that preprocessing is one of its steps.
bool is_picture_step(const StepProfile& step) {
  return step.op.starts_with("preprocess_images");
}

/// Seconds of preprocessing for a frame or picture; none where not measured separately.
std::optional<double> preprocess_seconds(const ReportParts& parts) {
  const auto count = static_cast<double>(std::max<std::int64_t>(1, pictures(parts.totals)));
  double own = 0, all = 0;
  for (const StepProfile& step : parts.recorder.profile()) {
    all += step.seconds;
    if (is_picture_step(step)) own += step.seconds;
  }
  if (own > 0) return own / all * parts.totals.sums.infer / count;
  double seconds = parts.totals.sums.preprocess;
  for (const TraceSpan& span : parts.recorder.trace().spans())
    if (span.name == "preprocess") seconds += span.end - span.start;
  return seconds > 0 ? std::optional(seconds / count) : std::nullopt;
}

/// The run's stages, with preprocessing on its own where it is known.
StageTimes stages_of(const ReportParts& parts) {
  RunTotals totals = parts.totals;
  if (const auto each = preprocess_seconds(parts))
    totals.sums.preprocess = *each * static_cast<double>(pictures(totals));
  return totals.stages();
}

Json stages_json(const StageTimes& times) {
  Json json{{"seconds", times.seconds},
            {"cpu_seconds", times.cpu_seconds},
            {"side_by_side", times.side_by_side},
            {"limit", times.limit_text()},
            {"stages", Json::array()}};
  for (const Stage& stage : times.stages)
    json["stages"].push_back({{"name", stage.name}, {"seconds", stage.seconds}, {"lane", stage.lane}});
  return json;
}

Json throughput_json(const Recorder& recorder) {
  const Recorder::Throughput& found = recorder.throughput();
  return {{"stretch", found.stretch}, {"end", found.end}, {"done", found.done}};
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
  std::vector<double> infer = times_of(parts.recorder, &FrameTimes::infer);
  std::ranges::sort(infer);
  const double median = sorted_quantile(infer, 0.5) * 1e3, slow = sorted_quantile(infer, 0.99) * 1e3;
  tiles.push_back(tile("Inference, median", fmt::format("{:.2f}", median), "ms",
                       parts.batch > 1 ? fmt::format("a frame, in batches of {}", parts.batch) : "a frame"));
  tiles.push_back(tile("Inference, slowest 1 %", fmt::format("{:.2f}", slow), "ms", "or longer"));
  if (const double each = preprocess_seconds(parts).value_or(0); each > 0)
    tiles.push_back(tile("Preprocessing", fmt::format("{:.2f}", each * 1e3), "ms", "a frame, mean"));
  if (parts.accuracy) {
    const Accuracy& accuracy = *parts.accuracy;
    tiles.push_back(tile("Mean IoU", fmt::format("{:.3f}", accuracy.mean_iou()), "",
                         fmt::format("{} objects", accuracy.objects())));
    tiles.push_back(tile("Class accuracy", fmt::format("{:.1f}", accuracy.class_accuracy() * 100), "%",
                         fmt::format("of {} found", accuracy.found())));
    tiles.push_back(tile("Recall", fmt::format("{:.1f}", accuracy.recall() * 100), "%",
                         fmt::format("precision {:.1f} %", accuracy.precision() * 100)));
    if (accuracy.objects() > 0)
      tiles.push_back(tile("mAP50", fmt::format("{:.3f}", accuracy.ap50), "",
                           fmt::format("mAP50-95 {:.3f}", accuracy.ap)));
  }
  return tiles;
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
            {"ap50", accuracy.objects() > 0 ? Json(accuracy.ap50) : Json()},
            {"ap", accuracy.objects() > 0 ? Json(accuracy.ap) : Json()},
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

Json drawing_json(const char* title, const char* note, const Json& graph, const CancelToken& cancel) {
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

Json memory_json(const ReportParts& parts, const Json& plan) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"weight_bytes", plan["memory"]["weight_bytes"].get<std::uint64_t>()},
          {"arena_bytes", parts.recorder.arena_bytes()},
          {"peak_bytes", static_cast<std::uint64_t>(usage.ru_maxrss) * 1024}};
}

std::string lead_text(const ReportParts& parts) {
  const std::int64_t count = pictures(parts.totals);
  const std::string noun = parts.totals.clips > 0 ? "frame" : "image";
  const Json engine = parts.summary.json();
  const auto device = engine["device"].get<std::string>();
  const std::string where = device == "cpu" ? fmt::format("the CPU with {} thread{}", parts.engine.threads(),
                                                          parts.engine.threads() == 1 ? "" : "s")
                                            : device;
  return fmt::format("{} {}{} through {} on {}: decoded, preprocessed, run{}. {}", count, noun,
                     count == 1 ? "" : "s", file_name(parts.model), where,
                     parts.inputs[0].output.empty() ? "" : ", marked and encoded",
                     stages_of(parts).limit_text());
}

std::string speed_note(const ReportParts& parts) {
  if (parts.totals.clips == 0)
    return "Every image's own times; decoding, the network and drawing run one after the other.";
  return "Every frame's own times. Three threads work in parallel: one decodes ahead, one "
         "preprocesses "
         "and runs the network, one " +
         std::string(parts.then ? "runs the second network, " : "") + "draws and encodes.";
}

/// Ranges, histograms and decisions of an engine that was built in INT8; null for any other.
Json int8_json(const Engine& engine) {
  const auto& metadata = engine.metadata();
  const auto decisions = metadata.find("lanner.int8"), table = metadata.find("lanner.calibration");
  if (decisions == metadata.end() || table == metadata.end()) return {};
  Json json = parse_json(decisions->second);
  const auto found = metadata.find("lanner.histograms");
  const Json histograms = found == metadata.end() ? Json::object() : parse_json(found->second);
  json["values"] = Json::array();
  for (const auto& [name, range] : CalibrationTable::parse(table->second).ranges)
    json["values"].push_back({{"name", name},
                              {"least", range.least},
                              {"most", range.most},
                              {"threshold", range.threshold},
                              {"calibrator", calibrator_name(range.calibrator)},
                              {"histogram", histograms.contains(name) ? histograms[name] : Json()}});
  return json;
}

/// The steps' measured times, with what explain says about their speed.
Json steps_json(const Recorder& recorder, const Json& plan) {
  std::map<std::string, const Json*> explained;
  for (const Json& node : plan["nodes"]) explained[node["name"].get<std::string>()] = &node;
  Json steps = profile_json(recorder.profile());
  for (Json& step : steps) {
    const auto found = explained.find(step["name"].get<std::string>());
    for (const char* key :
         {"title", "matrix_unit", "matrix_unit_reason", "padding_bytes", "flops_share", "limit"})
      if (found != explained.end() && found->second->contains(key)) step[key] = (*found->second)[key];
  }
  return steps;
}

Json report_json(const ReportParts& parts, const CancelToken& cancel) {
  const Json plan = parse_json(parts.engine.explain_json());
  const Recorder& recorder = parts.recorder;
  const std::string title = fmt::format("{} on {}", file_name(parts.model), inputs_text(parts.inputs));
  Json json{{"title", title},
            {"version", std::string(version())},
            {"lead", lead_text(parts)},
            {"noun", parts.totals.clips > 0 ? "frame" : "image"},
            {"stages", stages_json(stages_of(parts))},
            {"throughput", throughput_json(recorder)},
            {"advice", parts.summary.advice({{}, recorder.profile()})},
            {"tiles", tiles_json(parts)},
            {"facts", facts_json(parts)},
            {"frames", frames_json(recorder, parts.inputs.size() > 1)},
            {"accuracy", parts.accuracy ? accuracy_json(*parts.accuracy) : Json()},
            {"nodes", steps_json(recorder, plan)},
            {"int8", int8_json(parts.engine)},
            {"times",
             {{"decode", times_of(recorder, &FrameTimes::decode)},
              {"preprocess", preprocess_times(recorder, parts.batch)},
              {"infer", times_of(recorder, &FrameTimes::infer)},
              {"then", parts.then ? Json(times_of(recorder, &FrameTimes::then)) : Json::array()},
              {"draw", times_of(recorder, &FrameTimes::draw)},
              {"encode", times_of(recorder, &FrameTimes::encode)}}},
            {"speed_note", speed_note(parts)},
            {"timeline", timeline_json(recorder.trace())},
            {"memory", memory_json(parts, plan)},
            {"graphs", Json::array()}};
  json["graphs"].push_back(drawing_json(parts.facts.plan ? "Portable graph" : "Before",
                                        parts.facts.plan ? "As stored in the plan." : "As imported.",
                                        parse_json(parts.facts.graph), cancel));
  json["graphs"].push_back(drawing_json("After", "As it runs.", plan, cancel));
  return json;
}

/// Escapes characters in names that would turn or hide other text.
void make_visible(Json& json) {
  if (json.is_string()) json = visible(json.get_ref<const std::string&>());
  if (!json.is_structured()) return;
  for (Json& child : json) make_visible(child);
}

/// Escapes data inside a <script>, which `<` could end.
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

} // namespace

void write_report(OutputFile& file, const ReportParts& parts, const CancelToken& cancel) {
  Json json = report_json(parts, cancel);
  make_visible(json);
  cancel.check();
  const std::string data = script_safe(json_text(json));
  write_page(file, {.title = html_safe(json["title"].get<std::string>() + " - Lanner report"),
                    .kind = "report",
                    .styles = {page_css},
                    .main = run_html,
                    .data = data,
                    .scripts = {theme_js, run_js}});
  file.commit();
}

} // namespace lanner::tool
