// Writes one row for each answer (RFC 4180, with line feeds).

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include <lanner/classes.h>
#include <lanner/output.h>

#include "base/check.h"
#include "tasks/files/formats.h"

namespace lanner {
namespace {

using Fields = std::vector<std::string>;

/// A spreadsheet that separates by semicolons must not split a field.
std::string quoted(const std::string& field) {
  if (field.find_first_of(",;\"\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

/// Whether a spreadsheet would take it for a formula, from its first character, ASCII or full-width.
bool looks_like_formula(std::string_view text) {
  constexpr std::array<std::string_view, 8> signs = {"=",      "+",      "-",      "@",
                                                     "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  return std::ranges::any_of(signs, [&](std::string_view sign) { return text.starts_with(sign); });
}

/// Escapes external text: control characters (C0, DEL, C1) as `\xHH`, an apostrophe before what looks like a
/// formula.
std::string shown(std::string_view text) {
  std::string result = looks_like_formula(text) ? "'" : "";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](std::size_t k) { return static_cast<unsigned char>(k < text.size() ? text[k] : 0); };
    const bool c1 = at(i) == 0xc2 && at(i + 1) >= 0x80 && at(i + 1) < 0xa0;
    if (at(i) < 0x20 || at(i) == 0x7f)
      result += fmt::format("\\x{:02x}", at(i));
    else if (c1)
      result += fmt::format("\\x{:02x}\\x{:02x}", at(i), at(i + 1));
    else
      result += text[i];
    if (c1) ++i;
  }
  return result;
}

std::string label_of(const Task& task, std::int64_t number) {
  return shown(class_label(task, number));
}

template<typename Values>
void append(Fields& fields, const Values& values) {
  for (const auto& value : values) fields.push_back(fmt::format("{}", value));
}

class CsvFile : public ResultFile {
public:
  explicit CsvFile(const std::filesystem::path& path) : file_(path) {}

  void write(const ImageSource& picture, const TaskResult& result, const Task& task) override {
    picture_ = {shown(picture.source), fmt::format("{}", picture.frame),
                picture.pts ? fmt::format("{}", *picture.pts) : ""};
    switch (result.kind) {
    case TaskKind::classify:
      return write_classes(result, task);
    case TaskKind::semantic:
      return write_shares(result, task);
    case TaskKind::depth:
      return write_depth(result);
    case TaskKind::embed:
      return write_embedding(result);
    default:
      return write_boxes(result, task);
    }
  }
  /// Without pictures there is only a header, without the columns that depend on them.
  void finish(const Task&) override {
    head({});
    file_.commit();
  }

private:
  /// The first result decides the columns; later ones must have as many.
  void head(Fields names) {
    if (columns_ > 0 && names.empty()) return;
    Fields fields{"source", "frame", "pts"};
    fields.insert(fields.end(), names.begin(), names.end());
    check(columns_ == 0 || columns_ == fields.size(), ErrorCode::invalid_argument,
          "{}: a result with {} columns after others with {}; expected answers of one length",
          file_.path().string(), fields.size(), columns_);
    if (columns_ == 0) line(fields);
    columns_ = fields.size();
  }
  void row(const Fields& rest) {
    Fields fields = picture_;
    fields.insert(fields.end(), rest.begin(), rest.end());
    line(fields);
  }
  void line(const Fields& fields) {
    std::string text;
    for (const std::string& field : fields) text += quoted(field) + ",";
    text.back() = '\n';
    file_.write(text);
  }

  void write_classes(const TaskResult& result, const Task& task) {
    head({"rank", "class", "label", "probability"});
    const ResultParts parts = parts_of(result);
    for (std::size_t i = 0; i < parts.labels.size(); ++i)
      row({fmt::format("{}", i + 1), fmt::format("{}", parts.labels[i]), label_of(task, parts.labels[i]),
           fmt::format("{}", parts.scores[i])});
  }

  /// The best class of a crop; empty where the second network did not run on it.
  static std::array<std::string, 3> best_of(const TaskResult& crop, const Task& task) {
    const ResultParts parts = parts_of(crop);
    if (parts.count == 0) return {};
    return {fmt::format("{}", parts.labels[0]), label_of(task, parts.labels[0]),
            fmt::format("{}", parts.scores[0])};
  }

  void write_boxes(const TaskResult& result, const Task& task) {
    if (result.crop_task)
      check(result.crop_task->kind == TaskKind::classify, ErrorCode::invalid_argument,
            "{}: csv cannot hold results of a second network of the task {}; json can", file_.path().string(),
            to_string(*result.crop_task->kind));
    const ResultParts parts = parts_of(result);
    Fields names{"index", "class", "label", "score", "left", "top", "right", "bottom"};
    if (result.kind == TaskKind::segment) names.emplace_back("pixels");
    if (result.kind == TaskKind::obb)
      append(names, std::array{"center_x", "center_y", "width", "height", "angle"});
    for (std::int64_t p = 0; p < parts.points; ++p)
      append(names, std::array{fmt::format("x{}", p), fmt::format("y{}", p), fmt::format("confidence{}", p)});
    if (result.crop_task) append(names, std::array{"then_class", "then_label", "then_probability"});
    head(names);
    for (std::int64_t i = 0; i < parts.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      Fields fields{fmt::format("{}", i), fmt::format("{}", parts.labels[at]),
                    label_of(task, parts.labels[at]), fmt::format("{}", parts.scores[at])};
      append(fields, parts.box(i));
      if (result.kind == TaskKind::segment)
        fields.push_back(fmt::format("{}", mask_pixels(result.masks[at])));
      if (result.kind == TaskKind::obb) append(fields, parts.rotated.subspan(at * 5, 5));
      for (std::int64_t p = 0; p < parts.points; ++p) append(fields, parts.point(i, p));
      if (const TaskResult* crop = crop_of(result, i)) append(fields, best_of(*crop, *result.crop_task));
      row(fields);
    }
  }

  void write_shares(const TaskResult& result, const Task& task) {
    head({"class", "label", "share"});
    for (const ClassShare& share : class_shares(result))
      row({fmt::format("{}", share.number), label_of(task, share.number), fmt::format("{}", share.share)});
  }

  void write_depth(const TaskResult& result) {
    head({"min", "max", "mean", "not_finite"});
    const DepthFacts facts = depth_facts(result);
    const bool known = facts.finite > 0;
    row({known ? fmt::format("{}", facts.least) : "", known ? fmt::format("{}", facts.most) : "",
         known ? fmt::format("{}", facts.mean) : "", fmt::format("{}", facts.not_finite)});
  }

  void write_embedding(const TaskResult& result) {
    const auto values = embedding_of(result);
    Fields names, fields;
    for (std::size_t i = 0; i < values.size(); ++i) names.push_back(fmt::format("e{}", i));
    head(names);
    append(fields, values);
    row(fields);
  }

  OutputFile file_;
  Fields picture_;
  std::size_t columns_ = 0;
};

} // namespace

std::unique_ptr<ResultFile> open_csv_file(const std::filesystem::path& path) {
  return std::make_unique<CsvFile>(path);
}

} // namespace lanner
