// Data-dependent sizes on a GPU: rows after a count, subprograms, sequence items and their copies, against
// their definitions.

#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/index_texts.h"
#include "backends/tactic_check.h"
#include "engine/plan_file/plan_parts.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"
#include "fake_libraries/fake_libraries.h"
#include "run/lowered_text.h"
#include "temporary_folder.h"
#include "text_parts.h"

namespace lanner::test {
namespace {

class GpuItems : public GpuKernelTest {};

/// The fake driver implements kernels for f32.
TEST_F(GpuItems, KernelsAgreeWithTheDefinitions) {
  const auto expect_right = [](const char* text) {
    const auto ran = check_tactics(fmt::format("graph @g{}", text), {.device = gpu_device});
    EXPECT_TRUE(ran.contains("cuda/index") || ran.contains("cuda/roi_align")) << text;
  };
  for (const char* text : index_texts) expect_right(text);
  for (const char* text : region_texts) expect_right(text);
}

/// A detector: non-maximum suppression, ROI features of the selected boxes, and products on them.
constexpr std::string_view detector_text = R"(
graph @main(%image: f32[1, 3, 16, 16], %boxes: f32[1, 300, 4], %scores: f32[1, 1, 300]) -> (%y as "y", %which as "which") {
  %wc = constant() {value = random(f32[8, 3, 3, 3], seed = 3, std = 0.3)}
  %features: f32[*] = conv(%image, %wc, _) {pads = [1, 1, 1, 1]}
  %most: i64[] = constant() {value = i64[](300)}
  %overlap: f32[] = constant() {value = f32[](0.95)}
  %threshold: f32[] = constant() {value = f32[](0.5)}
  %selected: i64[*] = non_max_suppression(%boxes, %scores, %most, %overlap, %threshold)
  %two: i64[] = constant() {value = i64[](2)}
  %zero: i64[] = constant() {value = i64[](0)}
  %which: i64[*] = gather(%selected, %two) {axis = 1}
  %numbers: i64[*] = gather(%selected, %zero) {axis = 1}
  %flat_sizes: i64[2] = constant() {value = i64[2](300, 4)}
  %flat: f32[*] = reshape(%boxes, %flat_sizes)
  %chosen: f32[*] = gather(%flat, %which) {axis = 0}
  %pooled: f32[*] = roi_align(%features, %chosen, %numbers) {output_height = 3, output_width = 3, sampling_ratio = 2}
  %rows: f32[*] = flatten(%pooled) {axis = 1}
  %w1 = constant() {value = random(f32[72, 16], seed = 5, std = 0.2)}
  %h: f32[*] = matmul(%rows, %w1)
  %w2 = constant() {value = random(f32[16, 5], seed = 7, std = 0.3)}
  %y: f32[*] = matmul(%h, %w2)
})";

/// So many boxes are selected.
std::vector<Item> pictures(std::int64_t kept, float scale = 1) {
  Tensor boxes = Tensor::allocate(DType::f32, {1, 300, 4}), scores = Tensor::zeros(DType::f32, {1, 1, 300});
  for (std::int64_t i = 0; i < 300; ++i) {
    float* box = boxes.as<float>().data() + i * 4;
    box[0] = static_cast<float>(i % 20) * 0.7F, box[1] = static_cast<float>(i / 20) * 0.9F;
    box[2] = box[0] + 2 + static_cast<float>(i % 3), box[3] = box[1] + 3;
    if (i * 7 % 300 < kept)
      scores.as<float>()[static_cast<std::size_t>(i)] = 0.6F + 0.001F * static_cast<float>(i % 17);
  }
  return {waves({1, 3, 16, 16}, scale), boxes, scores};
}

const Engine& detector() {
  static const Engine engine = engine_of(detector_text, 1, gpu_device);
  return engine;
}

void expect_run(Context& context, const Engine& engine, const std::vector<Item>& inputs,
                const std::string& what) {
  const auto want = run_reference(*state_of(engine).graph, inputs);
  const auto got = context(named(engine, inputs));
  for (std::size_t i = 0; i < want.size(); ++i)
    expect_same(got.at(engine.outputs()[i].name), want[i], what + ", " + engine.outputs()[i].name);
}

/// Four times, in random orders that streams allow.
void expect_runs(Context& context, const Engine& engine, const std::vector<Item>& inputs) {
  for (unsigned seed = 1; seed < 5; ++seed) {
    fake_cuda_defer(seed);
    expect_run(context, engine, inputs, fmt::format("seed {}", seed));
    fake_cuda_defer(0);
  }
}

/// Twice with inputs on the GPU. The driver's log is of the second run.
void run_there(Context& context, const Engine& engine, const std::vector<Item>& inputs) {
  for (const auto& [name, item] : named(engine, inputs)) context.bind(name, Item(item.tensor.to(gpu_device)));
  context.run();
  fake_cuda_forget();
  context.run();
}

TEST_F(GpuItems, ADetectorsRowsRunOnTheGpu) {
  const Graph& graph = lowered(detector());
  EXPECT_TRUE(any_node(graph.body(), "row_blocks", "program")) << print(graph);
  EXPECT_TRUE(any_node(graph.body(), "roi_align", "cuda")) << print(graph);
  EXPECT_TRUE(any_node(graph.body(), "matmul", "cuda")) << print(graph);
  EXPECT_FALSE(any_node(graph.body(), "roi_align", "interpreter")) << print(graph);
  for (const std::int64_t kept : {0, 1, 3, 5, 26, 128, 300}) {
    const auto inputs = pictures(kept);
    EXPECT_EQ(run_reference(*state_of(detector()).graph, inputs)[1].tensor.shape()[0], kept);
    expect_as_defined(detector(), inputs);
  }
}

TEST_F(GpuItems, OnlyCountsAndBoxesComeToTheHost) {
  Context context = detector().create_context();
  expect_run(context, detector(), pictures(40), "first");
  run_there(context, detector(), pictures(40));
  // Boxes and scores; features and everything computed from them stay.
  EXPECT_EQ(count(fake_cuda_log(), "cuMemcpyDtoHAsync"), 2u) << fake_cuda_log();
  EXPECT_EQ(context.output("y").tensor.device(), gpu_device);
  const auto want = run_reference(*state_of(detector()).graph, pictures(40));
  expect_same(Item(context.output("y").tensor.to({})), want[0], "y");
}

TEST_F(GpuItems, NewCountsCompileAndTuneNothing) {
  Context context = detector().create_context();
  expect_run(context, detector(), pictures(7), "first");
  const std::size_t searches = fake_cudnn_searches(), plans = fake_cudnn_plans();
  const std::size_t variants = state_of(detector()).variants().list().size();
  std::size_t memory = 0;
  for (int image = 0; image < 100; ++image) {
    fake_cuda_forget();
    expect_run(context, detector(), pictures(image * 37 % 301, 1 + 0.01F * static_cast<float>(image)),
               fmt::format("image {}", image));
    const std::string log = fake_cuda_log();
    EXPECT_EQ(count(log, "cuModule"), 0u) << log;
    if (image == 50) memory = fake_cuda_memory();
  }
  EXPECT_EQ(fake_cudnn_searches(), searches);
  EXPECT_EQ(fake_cudnn_plans(), plans);
  EXPECT_EQ(state_of(detector()).variants().list().size(), variants);
  EXPECT_LE(fake_cuda_memory(), memory + 8) << "memory of earlier runs is reused";
}

TEST_F(GpuItems, AnyOrderThatStreamsAllowIsRight) {
  lowered(detector());
  for (unsigned seed = 1; seed < 9; ++seed) {
    fake_cuda_defer(seed);
    Context context = detector().create_context();
    for (const std::int64_t kept : {26, 5, 0, 300})
      expect_run(context, detector(), pictures(kept), fmt::format("seed {}, {} boxes", seed, kept));
    fake_cuda_defer(0);
  }
}

TEST_F(GpuItems, ContextsAreIndependent) {
  lowered(detector());
  const auto work = [](std::int64_t kept) {
    Context context = detector().create_context();
    for (int run = 0; run < 5; ++run)
      expect_run(context, detector(), pictures(kept + run), fmt::format("{} boxes", kept + run));
  };
  std::jthread beside([&] { work(120); });
  work(20);
}

TEST_F(GpuItems, PlansKeepTheDevicesOfRegions) {
  const TemporaryFolder folder;
  detector().save(folder / "detector.plan");
  const Engine loaded = Engine::load(folder / "detector.plan");
  EXPECT_TRUE(state_of(loaded).notes.empty());
  EXPECT_EQ(loaded.lowered_ir(), detector().lowered_ir());
  expect_as_defined(loaded, pictures(77));
}

TEST_F(GpuItems, PlansWithOtherDevicesAreRefused) {
  const TemporaryFolder folder;
  detector().save(folder / "detector.plan");
  const auto expect_refused = [&](std::string_view behind, std::string_view from, std::string_view to,
                                  std::string_view message) {
    Parts parts(folder / "detector.plan");
    std::string& text = parts.content.at("lowered");
    const std::size_t at = text.find(from, text.find(behind));
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, from.size(), to);
    parts.write(folder / "hostile.plan");
    LANNER_EXPECT_ERROR(Engine::load(folder / "hostile.plan"), ErrorCode::bad_data, message);
  };
  expect_refused("row_blocks(", " @ row cuda:0", "", "is not on cuda:0 in the storage that the caller gives");
  expect_refused("row_blocks(", "@ row cuda:0", "@ row cuda:3", "");
}

TEST_F(GpuItems, ARunThatFailedMayBeTriedAgain) {
  Context context = detector().create_context();
  expect_run(context, detector(), pictures(9), "first");
  fake_cuda_forget();
  expect_run(context, detector(), pictures(9), "second");
  const std::size_t calls = count(fake_cuda_log(), "\n");
  std::size_t failed = 0;
  for (std::size_t number = 1; number <= calls; ++number) {
    failed += fails(number, launch_failed, [&] { context(named(detector(), pictures(9))); });
    expect_run(context, detector(), pictures(9), fmt::format("after call {}", number));
  }
  EXPECT_GT(failed, 10u);
}

/// Rows gathered, scattered and zero-filled by kernels that get sizes at launch.
constexpr std::string_view moved_text = R"(
graph @main(%flags: f32[64], %x: f32[64, 4096]) -> (%y as "y", %none as "none", %part as "part", %both as "both") {
  %hits: i64[*] = non_zero(%flags)
  %minus: i64[1] = constant() {value = i64[1](-1)}
  %which: i64[*] = reshape(%hits, %minus)
  %rows: f32[*] = gather(%x, %which) {axis = 0}
  %count: i64[2] = shape(%rows)
  %none: f32[*] = constant_of_shape(%count)
  %one: i64[1] = constant() {value = i64[1](1)}
  %column: i64[*] = unsqueeze(%which, %one)
  %index: i64[*] = expand(%column, %count)
  %zeros = constant() {value = random(f32[64, 4096], seed = 3, std = 0.3)}
  %y: f32[64, 4096] = scatter_elements(%zeros, %index, %rows) {axis = 0}
  %from: i64[1] = constant() {value = i64[1](-4)}
  %to: i64[1] = constant() {value = i64[1](1000000)}
  %first: i64[1] = constant() {value = i64[1](0)}
  %part: f32[*] = slice(%rows, %from, %to, %first)
  %turned: f32[*] = transpose(%rows) {perm = [1, 0]}
  %both: f32[*] = concat(%turned, %turned) {axis = 0}
})";

std::vector<Item> flagged(std::int64_t hits) {
  Tensor flags = Tensor::zeros(DType::f32, {64});
  for (std::int64_t i = 0; i < hits; ++i) flags.as<float>()[static_cast<std::size_t>(i * 5 % 64)] = 1;
  return {flags, waves({64, 4096})};
}

TEST_F(GpuItems, MovesElementsOnTheGpu) {
  const Engine engine = engine_of(moved_text, 1, gpu_device);
  for (const std::int64_t hits : {0, 1, 3, 17, 64}) expect_as_defined(engine, flagged(hits));
  Context context = engine.create_context();
  expect_runs(context, engine, flagged(40));
  run_there(context, engine, flagged(40));
  EXPECT_EQ(count(fake_cuda_log(), "cuMemcpyDtoHAsync"), 1u) << "the flags\n" << fake_cuda_log();
  EXPECT_EQ(context.output("both").tensor.device(), gpu_device);
}

/// Only elementwise steps and row kernels on rows selected by flags.
constexpr std::string_view computed_text = R"(
graph @main(%flags: f32[64], %x: f32[64, 4096], %z: f32[4096]) -> (%less as "less", %p as "p", %most as "most", %mean as "mean") {
  %hits: i64[*] = non_zero(%flags)
  %minus: i64[1] = constant() {value = i64[1](-1)}
  %which: i64[*] = reshape(%hits, %minus)
  %rows: f32[*] = gather(%x, %which) {axis = 0}
  %r: f32[*] = relu(%rows)
  %s: f32[*] = add(%r, %z)
  %less: bool[*] = less(%s, %rows)
  %low: f32[] = constant() {value = f32[](-0.25)}
  %high: f32[] = constant() {value = f32[](0.5)}
  %within: f32[*] = clip(%rows, %low, %high)
  %chosen: f32[*] = where(%less, %s, %within)
  %p: f32[*] = softmax(%chosen)
  %along: i64[1] = constant() {value = i64[1](1)}
  %most: f32[*] = reduce_max(%chosen, %along) {keepdims = 0}
  %across: i64[1] = constant() {value = i64[1](0)}
  %mean: f32[*] = reduce_mean(%r, %across) {keepdims = 0}
})";

std::vector<Item> flagged_rows(std::int64_t hits) {
  std::vector<Item> items = flagged(hits);
  items.emplace_back(waves({4096}, 0.5F));
  return items;
}

TEST_F(GpuItems, ComputesElementsOnTheGpu) {
  const Engine engine = engine_of(computed_text, 1, gpu_device);
  for (const std::int64_t hits : {1, 3, 16, 17, 64}) expect_as_defined(engine, flagged_rows(hits));
  Context context = engine.create_context();
  expect_runs(context, engine, flagged_rows(40));
  run_there(context, engine, flagged_rows(64));
  EXPECT_EQ(count(fake_cuda_log(), "cuMemcpyDtoHAsync"), 1u) << "the flags\n" << fake_cuda_log();
  for (const char* name : {"less", "p", "most", "mean"})
    EXPECT_EQ(context.output(name).tensor.device(), gpu_device) << name;
}

/// With a unique alpha, so that its kernel was not compiled before.
Engine leaky_rows(std::int64_t width, double alpha) {
  return engine_of(fmt::format(R"(
graph @main(%flags: f32[64], %x: f32[64, {}]) -> (%y as "y") {{
  %hits: i64[*] = non_zero(%flags)
  %minus: i64[1] = constant() {{value = i64[1](-1)}}
  %which: i64[*] = reshape(%hits, %minus)
  %rows: f32[*] = gather(%x, %which) {{axis = 0}}
  %y: f32[*] = leaky_relu(%rows) {{alpha = {}}}
}})",
                               width, alpha),
                   1, gpu_device);
}

TEST_F(GpuItems, CompilesForAnySizeBeforeARun) {
  const Engine engine = leaky_rows(4096, 0.375);
  Context context = engine.create_context();
  const std::size_t before = fake_nvrtc_compiles();
  context(named(engine, flagged(1)));
  EXPECT_EQ(fake_nvrtc_compiles(), before + 1) << "the engine is lowered at its first run";
  for (const std::int64_t hits : {17, 40, 64}) {
    fake_cuda_forget();
    context(named(engine, flagged(hits)));
    EXPECT_EQ(count(fake_cuda_log(), "cuLaunchKernel"), 2u) << hits << fake_cuda_log();
  }
  EXPECT_EQ(fake_nvrtc_compiles(), before + 1);
}

TEST_F(GpuItems, CompilesNothingForSmallItems) {
  const Engine engine = leaky_rows(4, 0.625);
  const std::size_t before = fake_nvrtc_compiles();
  expect_as_defined(engine, {flagged(5)[0], waves({64, 4})});
  EXPECT_EQ(fake_nvrtc_compiles(), before);
}

constexpr std::string_view sequence_text = R"(
graph @main(%c: bool[], %x: f32[16, 32], %i: i64[]) -> (%y as "y", %n as "n", %all as "all") {
  %w = constant() {value = random(f32[32, 32], seed = 3, std = 0.2)}
  %a: f32[16, 32] = matmul(%x, %w)
  %b: f32[16, 32] = matmul(%a, %w)
  %pair: seq(f32[*]) = sequence_construct(%a, %b)
  %more: seq(f32[*]) = sequence_insert(%pair, %x)
  %n: i64[] = sequence_length(%more)
  %held: opt(f32[16, 32]) = optional(%b)
  %got: f32[16, 32] = optional_get_element(%held)
  %one: f32[16, 32] = sequence_at(%more, %i)
  %sum: f32[16, 32] = matmul(%one, %w)
  %again: f32[16, 32] = matmul(%got, %w)
  %both: seq(f32[*]) = sequence_construct(%sum, %again)
  %y: f32[*] = concat_from_sequence(%both) {axis = 0}
  %all: seq(f32[*]) = sequence_erase(%more)
})";

TEST_F(GpuItems, SequencesHoldTensorsOfTheGpu) {
  const Engine engine = engine_of(sequence_text, 1, gpu_device);
  for (const std::int64_t i : {0, 1, 2, -1})
    expect_as_defined(engine, {bools({1}, {}), waves({16, 32}), i64s({i}, {})});
  Context context = engine.create_context();
  expect_runs(context, engine, {bools({1}, {}), waves({16, 32}, 2), i64s({1}, {})});
}

constexpr std::string_view loop_text = R"(
graph @main(%n: i64[], %x: f32[8, 16]) -> (%y as "y", %all as "all", %turns as "turns") {
  %w = constant() {value = random(f32[16, 16], seed = 3, std = 0.2)}
  %y: f32[8, 16], %all: f32[*], %turns: i64[*] = loop(%n, _, %x; %w) ((%i: i64[], %go: bool[], %s: f32[8, 16], %v: f32[16, 16]) -> (%go, %next, %next, %i) {
    %next: f32[8, 16] = matmul(%s, %v)
  })
})";

/// Stops when an element exceeds the limit.
constexpr std::string_view until_text = R"(
graph @main(%n: i64[], %limit: f32[], %x: f32[2, 2]) -> (%y as "y", %all as "all") {
  %w = constant() {value = f32[2, 2](1.5, 0.0, 0.0, 1.5)}
  %y: f32[2, 2], %all: f32[*] = loop(%n, _, %x; %w, %limit) ((%i: i64[], %go: bool[], %s: f32[2, 2], %v: f32[2, 2], %l: f32[]) -> (%on, %next, %next) {
    %next: f32[2, 2] = matmul(%s, %v)
    %most: f32[] = reduce_max(%next) {keepdims = 0}
    %on: bool[] = less(%most, %l)
  })
})";

constexpr std::string_view scan_text = R"(
graph @main(%x: f32[5, 3, 4], %z: f32[3, 5, 4]) -> (%last as "last", %rows as "rows", %columns as "columns") {
  %w = constant() {value = random(f32[4, 4], seed = 3, std = 0.4)}
  %zero = constant() {value = random(f32[3, 4], seed = 5, std = 0.4)}
  %last: f32[3, 4], %rows: f32[*], %columns: f32[*] = scan(%zero, %x, %z; %w) {num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [1, 0],
    scan_output_axes = [0, -1], scan_output_directions = [1, 0]} ((%s: f32[3, 4], %a: f32[3, 4], %b: f32[3, 4], %v: f32[4, 4]) -> (%next, %a2, %b2) {
    %a2: f32[3, 4] = matmul(%a, %v)
    %b2: f32[3, 4] = matmul(%b, %v)
    %next: f32[3, 4] = matmul(%s, %v)
  })
})";

constexpr std::string_view branch_text = R"(
graph @main(%c: bool[], %n: i64[], %x: f32[4, 4]) -> (%y as "y", %z as "z") {
  %w = constant() {value = random(f32[4, 4], seed = 5, std = 0.5)}
  %y: f32[4, 4], %z: f32[*] = if(%c; %x, %n, %w) ((%a: f32[4, 4], %m: i64[], %v: f32[4, 4]) -> (%t, %r) {
    %twice: f32[4, 4] = matmul(%a, %v)
    %t: f32[4, 4], %r: f32[*] = loop(%m, _, %a; %twice, %v) ((%i: i64[], %go: bool[], %s: f32[4, 4], %tw: f32[4, 4], %vv: f32[4, 4]) -> (%go, %next, %tw) {
      %p: f32[4, 4] = matmul(%s, %vv)
      %next: f32[4, 4] = matmul(%p, %tw)
    })
  }, (%b: f32[4, 4], %m2: i64[], %v2: f32[4, 4]) -> (%k, %b) {
    %k: f32[4, 4] = constant() {value = random(f32[4, 4], seed = 9, std = 0.5)}
  })
})";

TEST_F(GpuItems, SubprogramsRunOnTheGpu) {
  const auto check = [](const Engine& engine, const std::vector<Item>& inputs) {
    expect_as_defined(engine, inputs);
    for (unsigned seed = 1; seed < 4; ++seed) {
      fake_cuda_defer(seed);
      Context context = engine.create_context();
      for (int run = 0; run < 3; ++run)
        expect_run(context, engine, inputs, fmt::format("seed {}, run {}", seed, run));
      fake_cuda_defer(0);
    }
  };
  const Engine loop = engine_of(loop_text, 1, gpu_device);
  EXPECT_TRUE(any_node(lowered(loop).body(), "matmul", "cuda")) << loop.lowered_ir();
  for (const std::int64_t n : {0, 1, 2, 50}) check(loop, {i64s({n}, {}), waves({8, 16})});
  const Engine until = engine_of(until_text, 1, gpu_device);
  EXPECT_TRUE(any_node(lowered(until).body(), "matmul", "cuda")) << until.lowered_ir();
  for (const float limit : {-1.F, 3.F, 1000.F})
    check(until, {i64s({100}, {}), Tensor::scalar(limit), f32s({1, 2, 3, 4}).reshaped({2, 2})});
  const Engine scan = engine_of(scan_text, 1, gpu_device);
  EXPECT_TRUE(any_node(lowered(scan).body(), "matmul", "cuda")) << scan.lowered_ir();
  check(scan, {waves({5, 3, 4}), waves({3, 5, 4}, 2)});
  const Engine branch = engine_of(branch_text, 1, gpu_device);
  EXPECT_TRUE(any_node(lowered(branch).body(), "matmul", "cuda")) << branch.lowered_ir();
  for (const int holds : {0, 1})
    for (const std::int64_t n : {0, 1, 3}) check(branch, {bools({holds}, {}), i64s({n}, {}), waves({4, 4})});
}

/// Without products: small steps stay on the host.
TEST_F(GpuItems, SmallSubprogramsStayOnTheHost) {
  const Engine engine = engine_of(R"(
graph @main(%n: i64[], %x: f32[2]) -> (%y as "y") {
  %y: f32[2] = loop(%n, _, %x) ((%i: i64[], %go: bool[], %s: f32[2]) -> (%go, %next) {
    %next: f32[2] = add(%s, %s)
  })
})",
                                  1, gpu_device);
  EXPECT_TRUE(lowered(engine).find("next")->storage.device.is_host()) << engine.lowered_ir();
  expect_as_defined(engine, {i64s({5}, {}), f32s({1, 2})});
}

} // namespace
} // namespace lanner::test
