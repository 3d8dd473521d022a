// Members of the structures of <lanner/c.h> set the same as the options' texts.

#include <array>
#include <cstddef>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "file_content.h"
#include "options/tables.h"
#include "source_dir.h"

namespace lanner::test {
namespace {

// A new member behind padding would lie in callers' old structures, with an equal struct_size.
template<typename Member>
constexpr bool ends_at(std::size_t size, std::size_t last) {
  return last + sizeof(Member) == size;
}
static_assert(ends_at<std::int32_t>(sizeof(lanner_build_options),
                                    offsetof(lanner_build_options, ranges_only)));
static_assert(ends_at<std::int32_t>(sizeof(lanner_load_options), offsetof(lanner_load_options, verify)));
static_assert(ends_at<void*>(sizeof(lanner_verify_options), offsetof(lanner_verify_options, progress_user)));
static_assert(ends_at<std::int32_t>(sizeof(lanner_context_options),
                                    offsetof(lanner_context_options, reserved)));
static_assert(ends_at<const char*>(sizeof(lanner_video_options), offsetof(lanner_video_options, limits)));

constexpr std::array<std::int64_t, 4> sizes{1, 3, 224, 224}, least{1, 3, 8, 8}, opt{2, 3, 8, 8},
    most{4, 3, 8, 8};
const lanner_shape_range shape{"x", 4, sizes.data(), nullptr, nullptr};
const lanner_shape_range range{"x", 4, least.data(), opt.data(), most.data()};
const lanner_profile profile{&range, 1};
const lanner_precision_pin pin{"/head/*", "fp32"};
const lanner_placed_nodes placed{"layer4*", "cuda:1"};
const lanner_pair state{"past", "present"}, alias{"x", "y"};
const lanner_binding_storage storage{"x", "acdb"};
const lanner_value_range value_range{"x", "-1:1"};
const lanner_metadata metadata{"author", "me"};
const lanner_input_preprocess preprocess{"x", "imagenet"};
const lanner_image_input picture{"x", "nv12", "imagenet"};
const char* const features[] = {"features"};
const char* const scale[] = {"scale"};
const char* const x[] = {"x"};
const char* const serve[] = {"serve"};

int stop(void*, const char*, double, double) {
  return 1;
}

template<typename Structure>
void give_weights(Structure& given) {
  static const std::string file = (source_dir() / "README.md").string();
  given.weights = file.c_str();
}

template<typename Structure>
void give_environment(Structure& given) {
  static lanner_environment environment;
  environment.environment.set_backends({"cpu"});
  given.environment = &environment;
}

/// Sets a member to the example of its row, or to the value in the comment of sample_of().
template<typename Structure>
using Cases = std::map<std::string_view, std::function<void(Structure&)>>;

const Cases<lanner_build_options> build_cases{
    {"precision", [](auto& given) { given.precision = "fp16,fp32"; }},
    {"budget", [](auto& given) { given.budget = 30; }},
    {"threads", [](auto& given) { given.threads = 3; }},
    {"deterministic", [](auto& given) { given.deterministic = 1; }},
    {"device", [](auto& given) { given.device = "cuda:0"; }},
    {"shapes", [](auto& given) { given.shapes = &shape, given.shape_count = 1; }},
    {"preprocess", [](auto& given) { given.preprocess = &preprocess, given.preprocess_count = 1; }},
    {"progress", [](auto& given) { given.progress = stop; }},
    {"retune", [](auto& given) { given.retune = 1; }},
    {"limits", [](auto& given) { given.limits = "total_bytes=4GiB"; }},
    {"profiles", [](auto& given) { given.profiles = &profile, given.profile_count = 1; }},
    {"pins", [](auto& given) { given.pins = &pin, given.pin_count = 1; }},
    {"strict", [](auto& given) { given.strict = 1; }},
    {"exact", [](auto& given) { given.exact = 1; }},
    {"states", [](auto& given) { given.states = &state, given.state_count = 1; }},
    {"aliases", [](auto& given) { given.aliases = &alias, given.alias_count = 1; }},
    {"overwritable", [](auto& given) { given.overwritable = x, given.overwritable_count = 1; }},
    {"storages", [](auto& given) { given.storages = &storage, given.storage_count = 1; }},
    {"environment", [](auto& given) { give_environment(given); }},
    {"images", [](auto& given) { given.images = &picture, given.image_count = 1; }},
    {"weight_budget", [](auto& given) { given.weight_budget = 512u << 20; }},
    {"placed", [](auto& given) { given.placed = &placed, given.placed_count = 1; }},
    {"outputs", [](auto& given) { given.outputs = features, given.output_count = 1; }},
    {"metadata", [](auto& given) { given.metadata = &metadata, given.metadata_count = 1; }},
    {"tune_at_run", [](auto& given) { given.tune_at_run = 1; }},
    {"overridden", [](auto& given) { given.overridden = scale, given.overridden_count = 1; }},
    {"weights", [](auto& given) { give_weights(given); }},
    {"calibration_data", [](auto& given) { given.calibration_data = "samples.safetensors"; }},
    {"calibration", [](auto& given) { given.calibration = "model.calibration"; }},
    {"calibrator", [](auto& given) { given.calibrator = "entropy"; }},
    {"least_snr", [](auto& given) { given.least_snr = 25; }},
    {"ranges_only", [](auto& given) { given.ranges_only = 1; }},
    {"ranges", [](auto& given) { given.ranges = &value_range, given.range_count = 1; }},
    {"signature", [](auto& given) { given.signature = "serving_default"; }},
    {"tags", [](auto& given) { given.tags = serve, given.tag_count = 1; }},
    {"freeze_batch_norm", [](auto& given) { given.freeze_batch_norm = 1; }},
};

const Cases<lanner_load_options> load_cases{
    {"threads", [](auto& given) { given.threads = 3; }},
    {"limits", [](auto& given) { given.limits = "total_bytes=4GiB"; }},
    {"weights", [](auto& given) { give_weights(given); }},
    {"environment", [](auto& given) { give_environment(given); }},
    {"weight_budget", [](auto& given) { given.weight_budget = 512u << 20; }},
    {"tune_at_run", [](auto& given) { given.tune_at_run = 1; }},
    {"verify", [](auto& given) { given.verify = 1; }},
};

const Cases<lanner_verify_options> verify_cases{
    {"seed", [](auto& given) { given.seed = 3; }},
    {"runs", [](auto& given) { given.runs = 3; }},
    {"contexts", [](auto& given) { given.contexts = 3; }},
    {"threads", [](auto& given) { given.threads = 3; }},
    {"shapes", [](auto& given) { given.shapes = &shape, given.shape_count = 1; }},
    {"reproducer", [](auto& given) { given.reproducer = "wrong.onnx"; }},
    {"progress", [](auto& given) { given.progress = stop; }},
};

const Cases<lanner_context_options> context_cases{
    {"threads", [](auto& given) { given.threads = 3; }},
};

const Cases<lanner_video_options> video_cases{
    {"threads", [](auto& given) { given.threads = 3; }},
    {"raise_on_error", [](auto& given) { given.raise_on_error = 1; }},
    {"limits", [](auto& given) { given.limits = "total_bytes=4GiB"; }},
};

/// Texts of values of kinds that have none.
const std::map<OptionKind, std::string> texts_of_kinds{
    {OptionKind::named_preprocess, "x=" + Preprocess::preset("imagenet").to_json()},
    {OptionKind::named_images, "x=nv12 " + Preprocess::preset("imagenet").to_json()},
    {OptionKind::source, "given"},
    {OptionKind::environment, "cpu; "},
    {OptionKind::control, "progress"},
};

template<typename Options, typename Structure>
void expect_same(const OptionTable<Options>& table, const Cases<Structure>& cases) {
  for (const OptionRow<Options>& row : table) {
    if (row.field.name.empty()) continue;
    SCOPED_TRACE(std::string(row.field.name));
    const auto found = cases.find(row.field.name);
    ASSERT_NE(found, cases.end()) << "no case sets this member";
    Structure given{};
    Options none, by_c;
    take_options(table, given, none);
    EXPECT_EQ(options_text(table, none), options_text(table, Options{})) << "zero is not the default";
    found->second(given);
    take_options(table, given, by_c);
    if (!has_text(row.info)) {
      EXPECT_EQ(option_text(row.get(by_c)), texts_of_kinds.at(row.info.kind));
      continue;
    }
    Options by_text;
    OptionInfo info = row.info;
    info.flag_value = true; // A member that is not 0 sets true, whatever the flag does.
    row.set(by_text, parse_option(info, sample_of(info)));
    EXPECT_EQ(options_text(table, by_c), options_text(table, by_text));
  }
}

/// Members of a structure declared in <lanner/c_options.h>, without those of nested ones.
std::set<std::string> members_of(const std::string& structure) {
  const std::string text = content_of(source_dir() / "include" / "lanner" / "c_options.h");
  const std::size_t begin = text.find("typedef struct " + structure + " {");
  std::string body = text.substr(begin, text.find("} " + structure + ";", begin) - begin);
  for (std::size_t at = body.find("/*"); at != std::string::npos; at = body.find("/*"))
    body.erase(at, body.find("*/", at) + 2 - at);
  std::set<std::string> members;
  for (std::size_t end = body.find(';'); end != std::string::npos; end = body.find(';', end + 1)) {
    const std::size_t first = body.find_last_of(" *", end) + 1;
    const std::string name = body.substr(first, end - first);
    if (name != "struct_size" && name != "progress_user" && !name.starts_with("reserved") &&
        !name.ends_with("_count"))
      members.insert(name);
  }
  return members;
}

template<typename Options>
void expect_all_members(const OptionTable<Options>& table, const std::string& structure) {
  std::set<std::string> known;
  for (const OptionRow<Options>& row : table)
    if (!row.field.name.empty()) known.emplace(row.field.name);
  EXPECT_EQ(members_of(structure), known) << structure;
}

} // namespace

TEST(OptionsInC, EachMemberSetsWhatTheTextSets) {
  expect_same(build_option_table(), build_cases);
  expect_same(load_option_table(), load_cases);
  expect_same(verify_option_table(), verify_cases);
  expect_same(context_option_table(), context_cases);
  expect_same(reader_option_table(), video_cases);
}

TEST(OptionsInC, EachMemberOfAStructureHasARow) {
  expect_all_members(build_option_table(), "lanner_build_options");
  expect_all_members(load_option_table(), "lanner_load_options");
  expect_all_members(verify_option_table(), "lanner_verify_options");
  expect_all_members(context_option_table(), "lanner_context_options");
  expect_all_members(reader_option_table(), "lanner_video_options");
}

TEST(OptionsInC, NegativeBudgetTimesNothingAndNanIsRejected) {
  lanner_build_options given{};
  BuildOptions options;
  given.budget = -1;
  take_options(build_option_table(), given, options);
  EXPECT_EQ(options.budget, 0);
  given.budget = std::numeric_limits<double>::quiet_NaN();
  LANNER_EXPECT_ERROR(take_options(build_option_table(), given, options), ErrorCode::invalid_argument,
                      "budget is nan");
}

TEST(OptionsInC, MissingTextsAreNamedInTheError) {
  lanner_build_options given{};
  BuildOptions options;
  const lanner_precision_pin half{"a", nullptr};
  given.pins = &half, given.pin_count = 1;
  LANNER_EXPECT_ERROR(take_options(build_option_table(), given, options), ErrorCode::invalid_argument,
                      "argument type of pins is null");
  given.pin_count = 0, given.output_count = 2;
  LANNER_EXPECT_ERROR(take_options(build_option_table(), given, options), ErrorCode::invalid_argument,
                      "argument outputs is null");
}

TEST(OptionsInC, DuplicateNameIsRejected) {
  const lanner_shape_range twice[] = {shape, shape};
  lanner_build_options given{};
  given.shapes = twice, given.shape_count = 2;
  BuildOptions options;
  LANNER_EXPECT_ERROR(take_options(build_option_table(), given, options), ErrorCode::invalid_argument,
                      "input 'x' comes twice");
}

TEST(OptionsInC, NonzeroProgressResultEndsTheCall) {
  lanner_build_options given{};
  given.progress = stop;
  BuildOptions options;
  take_options(build_option_table(), given, options);
  EXPECT_FALSE(options.control.cancel.cancelled());
  options.control.report({"tune", 1, 2, "kernels"});
  EXPECT_TRUE(options.control.cancel.cancelled());
}

} // namespace lanner::test
