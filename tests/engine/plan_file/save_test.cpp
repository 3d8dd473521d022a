// Writing a plan stops at its time limit and on cancellation. The old file stays.

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "engine/plan_file/weighted_engine.h"
#include "expect_error.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

namespace lanner::test {
namespace {

/// 40 MB of weights, hashed and written in several parts.
std::string text_of_large() {
  return "graph @g(%x: f32[5000]) -> (%y as \"y\") {\n" + weight("w", "f32[2000, 5000]", 1) +
         "  %y: f32[2000, 5000] = add(%x, %w)\n}";
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Save : public ::testing::Test {
protected:
  Save() { std::ofstream(path_) << "what was there"; }

  void expect_refused(const Engine& engine, const Control& control, ErrorCode code, std::string_view why) {
    LANNER_EXPECT_ERROR(engine.save(path_, {.weights = true, .control = control}), code, why);
    EXPECT_EQ(content(path_), "what was there");
    EXPECT_EQ(folder_.entries(), 1u) << "a part was left";
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "a.plan";
};

TEST_F(Save, IsCancelledBetweenParts) {
  const Engine engine = weighted_engine(text_of_large());
  int told = 0;
  double last = 0, total = 0;
  const auto count = [&](const ProgressUpdate& update) {
    ++told;
    last = update.done;
    total = update.total;
  };
  engine.save(folder_ / "b.plan", {.weights = true, .control = {{}, count}});
  EXPECT_GE(told, 6); // 40 MB twice, in parts of 16 MiB
  EXPECT_EQ(last, total);
  std::filesystem::remove(folder_ / "b.plan");

  // while hashing, and while writing
  for (const int part : {1, told / 2 + 1}) {
    Control control{CancelToken::create(), {}};
    int parts = 0;
    control.progress = [&](const ProgressUpdate& update) {
      EXPECT_EQ(update.stage, "save");
      if (++parts == part) control.cancel.cancel();
    };
    expect_refused(engine, control, ErrorCode::cancelled, "cancelled by the caller");
    EXPECT_LE(parts, part + 1);
  }
}

TEST_F(Save, EndsAtTheLimitOnSeconds) {
  const Engine engine = weighted_engine(text_of_large());
  const auto plan = folder_ / "b.plan";
  engine.save(plan);
  Control late;
  late.progress = [](const ProgressUpdate&) { std::this_thread::sleep_for(std::chrono::seconds(2)); };
  LoadOptions options;
  options.threads = 1;
  options.limits.seconds = 1.9; // loading this takes a small part of it
  const Engine loaded = Engine::load(plan, options);
  std::filesystem::remove(plan);
  expect_refused(loaded, late, ErrorCode::limit_exceeded, "over the limit seconds of 1.9");
}

/// A constant read by the portable graph and each variant.
TEST_F(Save, WritesALiteralConstantOnce) {
  std::string truths = "true";
  for (int i = 1; i < 20; ++i) truths += ", false";
  const Engine engine =
      weighted_engine("graph @g(%x: bool[20]) -> (%y as \"y\") {\n  %t: bool[20] = constant() {value = "
                      "bool[20](" +
                      truths + ")}\n  %y: bool[20] = and(%x, %t)\n}");
  engine.save(path_);
  std::size_t constants = 0;
  const Safetensors file = Safetensors::open(open_path(path_));
  for (const SafetensorsEntry& entry : file.entries()) constants += entry.dtype == DType::boolean;
  EXPECT_EQ(constants, 1u);
}

} // namespace
} // namespace lanner::test
