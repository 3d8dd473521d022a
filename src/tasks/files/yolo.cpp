// Writes a text file for each picture, in the format of YOLO's tools.

#include <map>
#include <system_error>

#include <fmt/format.h>

#include <lanner/classes.h>
#include <lanner/output.h>

#include "base/check.h"
#include "base/file/file.h"
#include "tasks/files/contour.h"
#include "tasks/files/formats.h"

namespace lanner {
namespace {

namespace fs = std::filesystem;

constexpr const char* names_file = "classes.txt";

class YoloFolder : public ResultFile {
public:
  explicit YoloFolder(const fs::path& path) : folder_(path) {
    std::error_code error;
    fs::create_directories(folder_, error);
    check(!error, ErrorCode::io, "{}: {}", folder_.string(), error.message());
  }

  void write(const ImageSource& picture, const TaskResult& result, const Task&) override {
    const ResultParts parts = parts_of(result);
    std::string text;
    for (std::int64_t i = 0; i < parts.count; ++i) text += line(result, parts, i);
    const std::string name = picture.stem() + ".txt";
    check(name != names_file, ErrorCode::invalid_argument,
          "{}: {} is reserved for the class names; rename {}", folder_.string(), name, picture.source);
    const auto [other, fresh] = sources_.emplace(name, picture.source);
    check(fresh, ErrorCode::invalid_argument,
          "{}: {} and {} would both be written to {}; give each a folder of its own", folder_.string(),
          other->second, picture.source, name);
    AtomicFile file(folder_ / name);
    file.write(text);
    file.commit(false);
  }

  void finish(const Task& task) override {
    if (task.labels.empty()) return;
    OutputFile file(folder_ / names_file);
    for (const std::string& label : task.labels) {
      std::string one = label;
      for (char& c : one)
        if (c == '\n' || c == '\r') c = ' ';
      file.write(one + "\n");
    }
    file.commit();
  }

private:
  static std::string line(const TaskResult& result, const ResultParts& parts, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const float width = static_cast<float>(result.width), height = static_cast<float>(result.height);
    std::string text = fmt::format("{}", parts.labels[at]);
    const auto add = [&](float x, float y) { text += fmt::format(" {:.6g} {:.6g}", x / width, y / height); };
    const std::array<float, 4> box = parts.box(i);
    if (result.kind == TaskKind::obb) {
      for (const Corner& corner : parts.corners(i)) add(corner[0], corner[1]);
    } else if (result.kind == TaskKind::segment) {
      std::vector<Corner> polygon = outer_contour(result.masks[at]);
      // A line is a polygon: for an empty mask that of its box.
      if (polygon.empty()) polygon = {{box[0], box[1]}, {box[2], box[1]}, {box[2], box[3]}, {box[0], box[3]}};
      for (const Corner& corner : polygon) add(corner[0], corner[1]);
    } else {
      add((box[0] + box[2]) / 2, (box[1] + box[3]) / 2);
      add(box[2] - box[0], box[3] - box[1]);
    }
    for (std::int64_t p = 0; p < parts.points; ++p) {
      const auto point = parts.point(i, p);
      add(point[0], point[1]);
      text += fmt::format(" {:.6g}", point[2]);
    }
    return text + fmt::format(" {:.6g}\n", parts.scores[at]);
  }

  fs::path folder_;
  std::map<std::string, std::string> sources_; ///< Open files.
};

} // namespace

std::unique_ptr<ResultFile> open_yolo_folder(const fs::path& path) {
  return std::make_unique<YoloFolder>(path);
}

} // namespace lanner
