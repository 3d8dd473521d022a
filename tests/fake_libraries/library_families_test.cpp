// The families of cuDNN and cuBLASLt on computing fakes: tactics offered, kernels restored from
// configurations, and the effect of every failing call.

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/config_text.h"
#include "backends/convolution/conv_engines.h"
#include "backends/cuda/families.h"
#include "backends/tactic_check.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/cudnn.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"
#include "fake_libraries/fake_libraries.h"
#include "fake_libraries/offer.h"

namespace lanner::test {
namespace {

constexpr int internal_error = 4000, unsupported = 3000, no_memory = 4004, cublaslt_internal_error = 14;
constexpr int down_convert_inputs = 1, nondeterministic = 4;

const char* const conv_ir =
    "graph @g(%x: f32[1, 4, 5, 5]) -> (%y: f32[*] as \"y\") {\n"
    "%w: f32[6, 4, 3, 3] = constant() {value = random(f32[6, 4, 3, 3], seed = 5, std = 0.3)}\n"
    "%b: f32[6] = constant() {value = random(f32[6], seed = 6, std = 1.0)}\n"
    "%y: f32[*] = fused(%x, %w, %b) {kind = \"t\"} "
    "((%xi: f32[1, 4, 5, 5], %wi: f32[6, 4, 3, 3], %bi: f32[6]) -> (%r) {\n"
    "%c: f32[*] = conv(%xi, %wi, %bi) {pads = [1, 1, 1, 1]}\n%r: f32[*] = relu(%c)\n})\n}";
const char* const matmul_ir = "graph @g(%a: f32[5, 8]) -> (%y: f32[*] as \"y\") {\n"
                              "%b: f32[8, 7] = constant() {value = random(f32[8, 7], seed = 5, std = 0.3)}\n"
                              "%c: f32[7] = constant() {value = random(f32[7], seed = 6, std = 0.3)}\n"
                              "%y: f32[*] = gemm(%a, %b, %c)\n}";

class FakeLibraries : public testing::Test {
protected:
  FakeLibraries() : current_(cuda::Gpu::get(gpu_device)) { cuda::ConvEngines::forget(); }
  void TearDown() override {
    fake_cudnn_fail(0, 0);
    fake_cublaslt_fail(0, 0);
    fake_cudnn_limit_operations(SIZE_MAX);
    fake_cudnn_set_note(-1);
    fake_cudnn_name_for_steps({1, 2});
  }
  cuda::Current current_;
};

std::string config_of(const Tactic& tactic) {
  return {reinterpret_cast<const char*>(tactic.config.data()), tactic.config.size()};
}

std::size_t count_with(const TacticList& list, std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(list.tactics.begin(), list.tactics.end(),
                    [&](const Tactic& tactic) { return config_of(tactic).find(text) != std::string::npos; }));
}

Tactic with(const Tactic& tactic, const std::string& key, const std::string& value) {
  Tactic changed = tactic;
  changed.config = ConfigText(tactic.config).set(key, value).bytes();
  return changed;
}

TEST_F(FakeLibraries, are_found_by_folder) {
  EXPECT_EQ(cudnn::library_status().version, 91300u);
  EXPECT_EQ(cublaslt::library_status().version, 130000u);
  EXPECT_NE(cudnn::library_status().path.find("fake_cudnn"), std::string::npos);
  EXPECT_TRUE(cudnn::library_status().remedy.empty());
}

TEST_F(FakeLibraries, a_missing_library_says_what_to_do) {
  const char* const names[] = {"liblanner-no-such-thing.so.9"};
  const cudnn::LibraryStatus dnn = cudnn::open_library(names);
  EXPECT_EQ(dnn.api, nullptr);
  EXPECT_NE(dnn.reason.find("liblanner-no-such-thing"), std::string::npos) << dnn.reason;
  EXPECT_NE(dnn.remedy.find("nvidia-cudnn"), std::string::npos);
  const cublaslt::LibraryStatus blas = cublaslt::open_library(names);
  EXPECT_EQ(blas.api, nullptr);
  EXPECT_NE(blas.remedy.find("nvidia-cublas"), std::string::npos);
  const char* const other[] = {"libcudnn.so.9"};
  EXPECT_NE(cublaslt::open_library(other).reason.find("it has no cublasLtGetVersion"), std::string::npos);
}

TEST_F(FakeLibraries, conv_is_offered_in_every_form_and_layout) {
  const TacticList list = Offer(cuda::conv_family, conv_ir).all();
  EXPECT_EQ(count_with(list, "form=fused"), 4u); // three engines, and one in the other layout
  EXPECT_EQ(count_with(list, "form=sum"), 1u);
  EXPECT_EQ(count_with(list, "form=split"), 1u);
  EXPECT_EQ(count_with(list, "layout=last"), 1u);
  for (const Tactic& tactic : list.tactics) {
    for (const Storage& storage : tactic.inputs) EXPECT_EQ(storage.device, gpu_device);
    EXPECT_EQ(tactic.outputs.at(0).device, gpu_device);
  }
}

// Described as row-major, several of them gave wrong results in FP16.
TEST_F(FakeLibraries, images_of_one_pixel_are_described_as_channels_last) {
  const TacticList list =
      Offer(cuda::conv_family, "graph @g(%x: f32[3, 4, 1, 1]) -> (%y: f32[*] as \"y\") {\n"
                               "%w: f32[6, 4, 1, 1] = constant() {value = random(f32[6, 4, 1, 1], seed = 5, "
                               "std = 0.3)}\n%y: f32[*] = conv(%x, %w, _)\n}")
          .all();
  EXPECT_GT(count_with(list, "layout=last"), 0u);
  EXPECT_EQ(count_with(list, "layout=row"), 0u);
}

// While another stream runs, one of cuDNN's engines for that is not reproducible.
TEST_F(FakeLibraries, no_operand_is_added_to_images_of_one_pixel_in_halves) {
  const auto offered = [](const char* size) {
    const std::string ir = fmt::format(
        "graph @g(%x: f16[1, 4, {0}], %z: f16[1, 6, {0}]) -> (%y: f16[*] as \"y\") {{\n"
        "%w: f16[6, 4, 1, 1] = constant() {{value = random(f16[6, 4, 1, 1], seed = 5, std = 0.3)}}\n"
        "%y: f16[*] = fused(%x, %w, %z) {{kind = \"t\"}} "
        "((%xi: f16[1, 4, {0}], %wi: f16[6, 4, 1, 1], %zi: f16[1, 6, {0}]) -> (%r) {{\n"
        "%c: f16[*] = conv(%xi, %wi, _)\n%r: f16[*] = add(%c, %zi)\n}})\n}}",
        size);
    return !Offer(cuda::conv_family, ir.c_str()).tactics().tactics.empty();
  };
  EXPECT_TRUE(offered("2, 2"));
  EXPECT_FALSE(offered("1, 1"));
}

TEST_F(FakeLibraries, asymmetric_padding_of_1d_depthwise_convs_is_left_to_others) {
  const auto offered = [](const char* pads) {
    const std::string ir =
        std::string("graph @g(%x: f32[1, 4, 9]) -> (%y: f32[*] as \"y\") {\n"
                    "%w: f32[4, 1, 3] = constant() {value = random(f32[4, 1, 3], seed = 5, "
                    "std = 0.3)}\n%y: f32[*] = conv(%x, %w, _) {group = 4, pads = ") +
        pads + "}\n}";
    return Offer(cuda::conv_family, ir.c_str()).tactics();
  };
  EXPECT_FALSE(offered("[1, 1]").tactics.empty());
  const TacticList uneven = offered("[1, 3]");
  EXPECT_TRUE(uneven.tactics.empty());
  EXPECT_NE(uneven.reason.find("1-D depthwise"), std::string::npos) << uneven.reason;
}

TEST_F(FakeLibraries, convs_do_not_fuse_activations_that_engines_get_wrong) {
  const auto offered = [](const char* activation) {
    const std::string ir =
        std::string(
            "graph @g(%x: f32[1, 4, 5, 5]) -> (%y: f32[*] as \"y\") {\n"
            "%w: f32[6, 4, 3, 3] = constant() {value = random(f32[6, 4, 3, 3], seed = 5, std = 0.3)}\n"
            "%y: f32[*] = fused(%x, %w) {kind = \"t\"} "
            "((%xi: f32[1, 4, 5, 5], %wi: f32[6, 4, 3, 3]) -> (%r) {\n"
            "%c: f32[*] = conv(%xi, %wi, _)\n%lo: f32[] = constant() {value = f32[](0)}\n"
            "%hi: f32[] = constant() {value = f32[](-1)}\n%r: f32[*] = ") +
        activation + "\n})\n}";
    return !Offer(cuda::conv_family, ir.c_str()).tactics().tactics.empty();
  };
  EXPECT_TRUE(offered("leaky_relu(%c) {alpha = 0.5}"));
  EXPECT_FALSE(offered("leaky_relu(%c) {alpha = 2.5}"));
  EXPECT_FALSE(offered("clip(%c, %lo, %hi)"));
}

TEST_F(FakeLibraries, graphs_that_are_refused_are_split) {
  fake_cudnn_limit_operations(2);
  const TacticList list = Offer(cuda::conv_family, conv_ir).all();
  EXPECT_EQ(list.tactics.size(), 4u); // three engines in one layout, one in the other
  EXPECT_EQ(count_with(list, "form=split"), 4u);
  TacticCheck check{2, 1e-5, gpu_device, {DType::f32}};
  check.without = {"own_conv"};
  expect_offered(check_tactics(conv_ir, check), {"cuda/conv"});
}

/// Where there is no time to check a library's kernels, own kernels are available, which need no check.
TEST_F(FakeLibraries, own_kernels_are_offered_in_every_type_for_library_versions_not_swept) {
  for (const std::vector<DType>& types : {std::vector{DType::f32}, std::vector{DType::f32, DType::f16}}) {
    const Offer conv(cuda::own_conv_family, conv_ir, types), product(cuda::own_gemm_family, matmul_ir, types);
    for (const Offer* own : {&conv, &product}) {
      for (const DType type : types)
        EXPECT_TRUE(std::ranges::any_of(own->tactics().tactics, [&](const Tactic& tactic) {
          return tactic.outputs.at(0).dtype.value_or(DType::f32) == type;
        })) << to_string(type);
    }
  }
}

TEST_F(FakeLibraries, f32_is_never_rounded_unasked) {
  fake_cudnn_set_note(down_convert_inputs);
  EXPECT_TRUE(Offer(cuda::conv_family, conv_ir).all().tactics.empty());
  const TacticList halves = Offer(cuda::conv_family, conv_ir, {DType::f32, DType::f16}).all();
  ASSERT_FALSE(halves.tactics.empty());
  for (const Tactic& tactic : halves.tactics) {
    EXPECT_EQ(tactic.outputs.at(0).dtype, DType::f16);
    EXPECT_EQ(tactic.inputs.at(1).dtype, DType::f16);
  }
}

TEST_F(FakeLibraries, nondeterministic_engines_are_left_out_when_requested) {
  fake_cudnn_set_note(nondeterministic);
  Offer offer(cuda::conv_family, conv_ir);
  EXPECT_FALSE(offer.all().tactics.empty());
  offer.target.deterministic = true;
  EXPECT_TRUE(offer.all().tactics.empty());
}

TEST_F(FakeLibraries, plans_of_another_version_are_refused) {
  for (const auto& [family, ir] :
       {std::pair(&cuda::conv_family, conv_ir), std::pair(&cuda::matmul_family, matmul_ir)}) {
    const Offer offer(*family, ir);
    const Tactic tactic = offer.tactics().tactics.at(0);
    EXPECT_NE(offer.prepare(tactic), nullptr);
    LANNER_EXPECT_ERROR(offer.prepare(with(tactic, "version", "80000")), ErrorCode::bad_data,
                        "the plan is for version 80000");
  }
}

TEST_F(FakeLibraries, hostile_configurations_are_refused) {
  const Offer conv(cuda::conv_family, conv_ir);
  const Tactic tactic = conv.tactics().tactics.at(0);
  LANNER_EXPECT_ERROR(conv.prepare(with(tactic, "knobs", "3:x")), ErrorCode::bad_data, "`x`");
  LANNER_EXPECT_ERROR(conv.prepare(with(tactic, "knobs", "-1:4")), ErrorCode::bad_data, "knob -1");
  LANNER_EXPECT_ERROR(conv.prepare(with(tactic, "form", "folded")), ErrorCode::bad_data, "form `folded`");
  LANNER_EXPECT_ERROR(conv.prepare(with(tactic, "engine", "99")), ErrorCode::device, "cudnnBackendFinalize");
  const Offer matmul(cuda::matmul_family, matmul_ir);
  const Tactic product = matmul.tactics().tactics.at(0);
  LANNER_EXPECT_ERROR(matmul.prepare(with(product, "id", "99")), ErrorCode::device, "cublasLtMatmulAlgoInit");
  LANNER_EXPECT_ERROR(matmul.prepare(with(product, "tile", "3")), ErrorCode::unsupported,
                      "cublasLtMatmulAlgoCheck");
}

TEST_F(FakeLibraries, every_call_that_fails_while_offering_leaves_nothing_behind) {
  const Offer offer(cuda::conv_family, conv_ir);
  const std::size_t before = fake_cudnn_calls(), most = offer.all().tactics.size();
  const std::size_t calls = fake_cudnn_calls() - before;
  cuda::ConvEngines::forget();
  const long objects = fake_cudnn_objects();
  for (const int status : {internal_error, unsupported, no_memory})
    for (std::size_t n = 1; n <= calls; ++n) {
      fake_cudnn_fail(n, status);
      // Where another form comes first, another engine of it is offered too.
      EXPECT_LE(offer.all().tactics.size(), most + 1);
      cuda::ConvEngines::forget();
      EXPECT_EQ(fake_cudnn_objects(), objects) << "call " << n;
    }
}

TEST_F(FakeLibraries, temporary_failures_are_retried) {
  const Offer offer(cuda::conv_family, conv_ir);
  const std::size_t before = fake_cudnn_calls(), most = offer.tactics().tactics.size();
  const std::size_t calls = fake_cudnn_calls() - before;
  for (const int status : {internal_error, no_memory})
    for (std::size_t n = 1; n <= calls; ++n) {
      cuda::ConvEngines::forget();
      fake_cudnn_fail(n, status);
      static_cast<void>(offer.tactics());
      EXPECT_EQ(offer.tactics().tactics.size(), most) << "call " << n;
    }
}

TEST_F(FakeLibraries, engines_are_made_ready_only_when_asked_for) {
  const Offer offer(cuda::conv_family, conv_ir);
  const std::size_t searches = fake_cudnn_searches(), plans = fake_cudnn_plans();
  EXPECT_EQ(offer.tactics().tactics.size(), 1u); // the best one in the better layout
  EXPECT_EQ(fake_cudnn_searches() - searches, 1u);
  EXPECT_EQ(fake_cudnn_plans() - plans, 1u);
  const TacticList more = offer.more();
  EXPECT_EQ(more.tactics.size(), 5u);
  EXPECT_EQ(count_with(more, "engine=1;form=fused"), 1u); // in the other layout
}

TEST_F(FakeLibraries, a_step_runs_separately_where_no_engine_is_known_for_both) {
  fake_cudnn_name_for_steps({});
  const Offer offer(cuda::conv_family, conv_ir);
  EXPECT_EQ(count_with(offer.tactics(), "engine=1;epilogue_engine=7;epilogue_knobs=;form=split;knobs=3:4"),
            1u);
  const TacticList more = offer.more();
  EXPECT_EQ(count_with(more, "engine=7;form=fused"), 1u); // the fallback
  EXPECT_EQ(count_with(more, "engine=2;epilogue_engine=7"), 1u);
}

TEST_F(FakeLibraries, a_step_runs_separately_where_the_only_engine_for_both_is_not_the_best_for_one) {
  fake_cudnn_name_for_steps({2});
  EXPECT_EQ(count_with(Offer(cuda::conv_family, conv_ir).tactics(), "form=split"), 1u);
  cuda::ConvEngines::forget();
  fake_cudnn_name_for_steps({1});
  EXPECT_EQ(count_with(Offer(cuda::conv_family, conv_ir).tactics(), "form=fused"), 1u);
}

TEST_F(FakeLibraries, layers_of_one_shape_are_searched_and_made_ready_once) {
  const Offer offer(cuda::conv_family, conv_ir);
  const TacticList list = offer.all();
  for (const Tactic& tactic : list.tactics) static_cast<void>(offer.prepare(tactic));
  const std::size_t before = fake_cudnn_calls();
  const Offer other(cuda::conv_family, conv_ir);
  const TacticList again = other.all();
  ASSERT_EQ(again.tactics.size(), list.tactics.size());
  for (std::size_t i = 0; i < list.tactics.size(); ++i) {
    EXPECT_EQ(config_of(again.tactics[i]), config_of(list.tactics[i]));
    static_cast<void>(other.prepare(again.tactics[i]));
  }
  EXPECT_EQ(fake_cudnn_calls(), before);
}

TEST_F(FakeLibraries, a_plan_finds_its_engines_without_a_search) {
  const Offer offer(cuda::conv_family, conv_ir);
  const TacticList list = offer.all();
  cuda::ConvEngines::forget();
  const std::size_t searches = fake_cudnn_searches();
  for (const Tactic& tactic : list.tactics) {
    const TacticList named = offer.named(tactic);
    ASSERT_EQ(named.tactics.size(), 1u) << config_of(tactic);
    EXPECT_EQ(config_of(named.tactics[0]), config_of(tactic));
    const std::size_t plans = fake_cudnn_plans();
    EXPECT_NE(offer.prepare(tactic), nullptr);
    EXPECT_EQ(fake_cudnn_plans(), plans); // the one that was tried
  }
  EXPECT_EQ(fake_cudnn_searches(), searches);
}

TEST_F(FakeLibraries, a_plan_names_no_engine_that_would_not_be_offered) {
  const Offer offer(cuda::conv_family, conv_ir);
  const Tactic tactic = offer.tactics().tactics.at(0);
  EXPECT_TRUE(offer.named(with(tactic, "engine", "99")).tactics.empty());
  EXPECT_TRUE(offer.named(with(tactic, "knobs", "3:5")).tactics.empty());
  EXPECT_TRUE(offer.named(with(tactic, "version", "80000")).tactics.empty());
  LANNER_EXPECT_ERROR(offer.named(with(tactic, "form", "folded")), ErrorCode::bad_data, "form `folded`");
  Tactic halves = tactic;
  halves.outputs[0].dtype = DType::f16;
  EXPECT_TRUE(offer.named(halves).tactics.empty());
  const Offer plain(cuda::conv_family, "graph @g(%x: f32[1, 4, 5, 5], %w: f32[6, 4, 3, 3]) -> (%y: f32[*] as "
                                       "\"y\") {\n%y: f32[*] = conv(%x, %w, _)\n}");
  const Tactic single = plain.tactics().tactics.at(0);
  EXPECT_TRUE(plain.named(with(single, "form", "sum")).tactics.empty());
  fake_cudnn_set_note(down_convert_inputs);
  cuda::ConvEngines::forget();
  EXPECT_TRUE(offer.named(tactic).tactics.empty());
}

TEST_F(FakeLibraries, every_call_that_fails_while_preparing_is_an_error) {
  const Offer offer(cuda::conv_family, conv_ir);
  for (const Tactic& tactic : offer.all().tactics) {
    cuda::ConvEngines::forget();
    const long objects = fake_cudnn_objects();
    const std::size_t before = fake_cudnn_calls();
    static_cast<void>(offer.prepare(tactic));
    const std::size_t calls = fake_cudnn_calls() - before;
    ASSERT_GT(calls, 0u);
    for (std::size_t n = 1; n <= calls; ++n) {
      cuda::ConvEngines::forget();
      fake_cudnn_fail(n, internal_error);
      LANNER_EXPECT_ERROR(offer.prepare(tactic), ErrorCode::device, "CUDNN_STATUS_FAKE: asked for by a test");
      cuda::ConvEngines::forget();
      EXPECT_EQ(fake_cudnn_objects(), objects) << "call " << n;
    }
  }
}

TEST_F(FakeLibraries, every_call_of_a_product_may_fail) {
  const Offer offer(cuda::matmul_family, matmul_ir);
  const TacticList list = offer.tactics();
  ASSERT_EQ(list.tactics.size(), 4u); // two algorithms, b plain and transposed
  const Tactic& tactic = list.tactics.at(1);
  std::size_t before = fake_cublaslt_calls();
  static_cast<void>(offer.prepare(tactic));
  const std::size_t preparing = fake_cublaslt_calls() - before;
  before = fake_cublaslt_calls();
  static_cast<void>(offer.tactics());
  const std::size_t offering = fake_cublaslt_calls() - before;
  const long objects = fake_cublaslt_objects();
  for (std::size_t n = 1; n <= preparing; ++n) {
    fake_cublaslt_fail(n, cublaslt_internal_error);
    LANNER_EXPECT_ERROR(offer.prepare(tactic), ErrorCode::device, "asked for by a test");
    EXPECT_EQ(fake_cublaslt_objects(), objects) << "call " << n;
  }
  for (std::size_t n = 1; n <= offering; ++n) {
    fake_cublaslt_fail(n, cublaslt_internal_error);
    EXPECT_LT(offer.tactics().tactics.size(), list.tactics.size()) << "call " << n;
    EXPECT_EQ(fake_cublaslt_objects(), objects) << "call " << n;
  }
}

/// A kernel of its family with memory for one run.
struct Running {
  Tensor x, w, b, y, workspace;
  std::vector<const void*> from;
  std::vector<void*> to;

  Running(const Offer& offer, const Tactic& tactic, const Kernel& kernel) {
    const auto packed = [&](std::size_t i) {
      Tensor host =
          Tensor::zeros(DType::f32, offer.node_case.inputs.at(i).shape(), tactic.inputs.at(i).layout);
      copy_tensor(offer.node_case.inputs.at(i), host);
      return host.to(gpu_device);
    };
    x = packed(0), w = packed(1), b = packed(2);
    y = Tensor::zeros(DType::f32, offer.node_case.results.at(0).shape(), tactic.outputs.at(0).layout)
            .to(gpu_device);
    workspace =
        Tensor::allocate(DType::u8, {static_cast<std::int64_t>(kernel.workspace()) + 1}, {}, gpu_device);
    from = {x.data(), w.data(), b.data()};
    to = {y.data()};
  }
  void launch(const Kernel& kernel) { kernel.launch({from, to, workspace.data(), {}}); }
  void expect_result(const Offer& offer) const {
    const Tensor found = y.clone();
    const auto a = found.as<float>(), e = offer.node_case.results.at(0).as<float>();
    for (std::size_t i = 0; i < e.size(); ++i) ASSERT_NEAR(a[i], e[i], 1e-4) << i;
  }
};

TEST_F(FakeLibraries, a_launch_with_the_same_pointers_is_one_call) {
  const Offer offer(cuda::conv_family, conv_ir);
  for (const Tactic& tactic : offer.all().tactics) {
    const auto kernel = offer.prepare(tactic);
    EXPECT_TRUE(kernel->on_stream());
    Running one(offer, tactic, *kernel), two(offer, tactic, *kernel);
    one.launch(*kernel);
    two.launch(*kernel);
    const std::size_t graphs = config_of(tactic).find("form=split") == std::string::npos ? 1 : 2;
    const std::size_t before = fake_cudnn_calls();
    one.launch(*kernel);
    two.launch(*kernel);
    EXPECT_EQ(fake_cudnn_calls() - before, 2 * graphs);
    one.expect_result(offer);
    two.expect_result(offer);
  }
}

TEST_F(FakeLibraries, a_launch_that_fails_can_be_repeated) {
  for (const auto& [family, ir] :
       {std::pair(&cuda::conv_family, conv_ir), std::pair(&cuda::matmul_family, matmul_ir)}) {
    const Offer offer(*family, ir);
    const Tactic tactic = offer.tactics().tactics.at(0);
    const auto kernel = offer.prepare(tactic);
    Running run(offer, tactic, *kernel);
    fake_cudnn_fail(1, internal_error);
    fake_cublaslt_fail(1, cublaslt_internal_error);
    LANNER_EXPECT_ERROR(run.launch(*kernel), ErrorCode::device, "asked for by a test");
    fake_cudnn_fail(0, 0);
    fake_cublaslt_fail(0, 0);
    run.launch(*kernel);
    run.expect_result(offer);
  }
}

TEST_F(FakeLibraries, pointers_that_kernels_would_fault_on_are_refused) {
  for (const auto& [family, ir] :
       {std::pair(&cuda::conv_family, conv_ir), std::pair(&cuda::matmul_family, matmul_ir)}) {
    const Offer offer(*family, ir);
    const Tactic tactic = offer.tactics().tactics.at(0);
    const auto kernel = offer.prepare(tactic);
    Running run(offer, tactic, *kernel);
    run.from[0] = static_cast<const std::byte*>(run.from[0]) + 4;
    LANNER_EXPECT_ERROR(run.launch(*kernel), ErrorCode::invalid_argument, "expected a multiple of 16 bytes");
  }
}

TEST_F(FakeLibraries, kernels_are_shared_by_threads) {
  for (const auto& [family, ir] :
       {std::pair(&cuda::conv_family, conv_ir), std::pair(&cuda::matmul_family, matmul_ir)}) {
    const Offer offer(*family, ir);
    const Tactic tactic = offer.tactics().tactics.at(0);
    const auto kernel = offer.prepare(tactic);
    std::vector<Running> runs;
    for (int i = 0; i < 4; ++i) runs.emplace_back(offer, tactic, *kernel);
    std::vector<std::string> failures(runs.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < runs.size(); ++i)
      threads.emplace_back([&, i] {
        const cuda::Current current(cuda::Gpu::get(gpu_device));
        try {
          for (int repeat = 0; repeat < 50; ++repeat) runs[i].launch(*kernel);
        } catch (const Error& error) {
          failures[i] = error.message();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(failures[i], "");
      runs[i].expect_result(offer);
    }
  }
}

} // namespace
} // namespace lanner::test
