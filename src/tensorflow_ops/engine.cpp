#include "engine.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include <fmt/ranges.h>
#include <lanner/error.h>
#include <lanner/threads.h>

#include "json.h"
#include "protobuf.h"

namespace lanner::tensorflow_ops {
namespace {

std::atomic<std::uint64_t> entries_made = 0;

std::mutex settings_mutex;
Settings current_settings;

/// Threads that TensorFlow uses within one operator, by its ConfigProto or TF_NUM_INTRAOP_THREADS; 0: not
/// said.
int intra_op_threads(std::string_view config) {
  constexpr protozero::pbf_tag_type intra_op_parallelism_threads = 2;
  int threads = 0;
  try {
    each_field(config, "the configuration", [&](protozero::pbf_reader& field) {
      if (field.tag() == intra_op_parallelism_threads)
        threads = field.get_int32();
      else
        field.skip();
    });
  } catch (const Error&) {
    threads = 0;
  }
  const char* const said = std::getenv("TF_NUM_INTRAOP_THREADS");
  return threads > 0 ? threads : said ? std::max(0, std::atoi(said)) : 0;
}

int threads_of(const Settings& settings, std::string_view config) {
  if (settings.threads > 0) return settings.threads;
  const int said = intra_op_threads(config);
  return said > 0 ? said : default_threads();
}

tf::ConvertOptions options_of(const Node& node, const Settings& settings, int threads) {
  tf::ConvertOptions options;
  options.build.threads = threads;
  if (settings.budget) options.build.budget = *settings.budget;
  options.native_fallback = false; // TensorFlow runs the native segment
  options.build.environment.set_allocator(&tensorflow_allocator());
  options.build.environment.set_log_callback([](LogLevel level, std::string_view message) {
    if (level == LogLevel::warning) warn(message);
  });
  for (std::size_t i = 0; i < node.output_types.size(); ++i)
    options.build.outputs.push_back(fmt::format("{}:{}", node.name, i));
  return options;
}

std::vector<Tensor> inputs_of(TF_OpKernelContext* context) {
  const CApi& api = c_api();
  std::vector<Tensor> inputs;
  for (int i = 0; i < api.TF_NumInputs(context); ++i) {
    const TF_DataType type = api.TF_InputDatatype(context, i);
    errors::check(dtype_of_tensorflow(type).has_value(), ErrorCode::unsupported,
                  "input {} has TensorFlow's type {}, which engines do not take; expected numbers or bool", i,
                  type);
    TF_Tensor* tensor = nullptr;
    const Status status;
    api.TF_GetInput(context, i, &tensor, status.get());
    status.check("an input");
    inputs.push_back(shared(TensorPtr(tensor)));
  }
  return inputs;
}

/// Why the engine does not run, without what liblanner says of its own native runs.
std::string reason_of(const Error& error) {
  constexpr std::string_view before = "no engine runs them: ";
  const std::size_t found = error.message().find(before);
  return found == std::string::npos ? error.message() : error.message().substr(found + before.size());
}

std::string json_of(const std::vector<tf::CachedEngine>& engines) {
  std::vector<std::string> texts;
  for (const tf::CachedEngine& engine : engines) {
    JsonObject made, shapes;
    for (const auto& [input, range] : engine.shapes)
      shapes.add_raw(input, fmt::format("[{},{},{}]", range.min.to_string(), range.opt.to_string(),
                                        range.max.to_string()));
    made.add_raw("shapes", shapes.text());
    made.add("build_seconds", engine.build_seconds);
    made.add("bytes", engine.bytes);
    texts.push_back(made.text());
  }
  return fmt::format("[{}]", fmt::join(texts, ","));
}

bool is_refused_by_environment() {
  const char* const allowed = std::getenv("TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION");
  return allowed && (std::string_view(allowed) == "false" || std::string_view(allowed) == "0");
}

} // namespace

Settings settings() {
  const std::scoped_lock lock(settings_mutex);
  return current_settings;
}

void change_settings(const Settings& settings) {
  const std::scoped_lock lock(settings_mutex);
  current_settings = settings;
}

EngineEntry::EngineEntry(Node node, std::string graph, GraphAgain again, int threads,
                         const Settings& settings)
    : id_(++entries_made), node_(std::move(node)),
      graph_(std::make_shared<const std::string>(std::move(graph))), again_(std::move(again)),
      threads_(threads), settings_(settings) {}

void EngineEntry::build() {
  const auto start = std::chrono::steady_clock::now();
  std::optional<tf::Model> made;
  std::string failure, used;
  const tf::ConvertOptions options = options_of(node_, settings_, threads_);
  // A plan of the engine may lie there; or what TF-TRT left under its name, which is none.
  std::vector<std::filesystem::path> folders{""};
  std::error_code ignored;
  if (std::filesystem::exists(node_.folder / "assets" / ("trt-serialized-engine." + node_.name), ignored))
    folders.insert(folders.begin(), node_.folder);
  for (const std::filesystem::path& folder : folders) {
    try {
      const auto source = open_bytes(std::as_bytes(std::span(*graph_)), graph_, node_.name);
      made = tf::Model::load(source, options, folder);
      used = folder;
      break;
    } catch (const std::exception& error) {
      failure = error.what();
    }
  }
  if (made) failure.clear();
  const std::scoped_lock lock(mutex_);
  if (again_) graph_.reset();
  model_ = std::move(made);
  build_error_ = std::move(failure);
  folder_ = std::move(used);
  build_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const tf::Model* EngineEntry::model() {
  std::call_once(built_, [&] { build(); });
  return model_ ? &*model_ : nullptr;
}

std::string EngineEntry::misfit(const std::vector<Tensor>& inputs) const {
  std::string first;
  for (std::size_t i = 0; i < node_.input_shapes.size() && i < inputs.size(); ++i) {
    const NodeShape& wanted = node_.input_shapes[i];
    if (!wanted.ranked) continue;
    const auto& dims = inputs[i].shape().dims();
    const bool same_rank = dims.size() == wanted.dims.size();
    bool fits = same_rank;
    for (std::size_t d = 0; fits && d < dims.size(); ++d)
      fits = wanted.dims[d] < 0 || wanted.dims[d] == dims[d];
    if (fits) continue;
    const std::string reason = fmt::format("input {} has shape [{}], the node has [{}]", i,
                                           fmt::join(dims, ", "), fmt::join(wanted.dims, ", "));
    // Operators of TensorFlow's end the process where a rank is not the one that the graph was made for.
    errors::check(same_rank, ErrorCode::invalid_argument, "{}: another rank", reason);
    if (first.empty()) first = reason;
  }
  return first;
}

void EngineEntry::run_engine(TF_OpKernelContext* context, const std::vector<Tensor>& inputs) {
  std::optional<tf::Runner> runner;
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      runner = std::move(idle_.back());
      idle_.pop_back();
    }
    ++runs_;
    runners_ += !runner;
  }
  if (!runner) runner = model_->create_runner(threads_);
  std::map<std::string, Item> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) given[model_->inputs()[i].name] = inputs[i];
  const std::map<std::string, Item> results = (*runner)(given);
  for (std::size_t i = 0; i < model_->outputs().size(); ++i)
    set_output(context, static_cast<int>(i), results.at(model_->outputs()[i].name).tensor);
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(*runner));
}

const NativeSession& EngineEntry::session() {
  std::call_once(opened_, [&] {
    try {
      const NativeGraph native = native_graph(again_ ? again_() : *graph_);
      session_ = std::make_unique<NativeSession>(native);
      const std::scoped_lock lock(mutex_);
      native_bytes_ = native.graph_def.size();
    } catch (const Error& error) {
      const std::scoped_lock lock(mutex_);
      session_error_ = error.message();
    }
  });
  errors::check(session_ != nullptr, ErrorCode::unsupported, "{}", session_error_);
  return *session_;
}

void EngineEntry::run_native(TF_OpKernelContext* context, const std::string& reason, bool is_news,
                             const Status& status) {
  const CApi& api = c_api();
  errors::check(node_.has_segment || node_.has_function, ErrorCode::unsupported, "{}", reason);
  errors::check(node_.may_run_natively, ErrorCode::cancelled,
                "the engine cannot run: {}; the model was converted with use_function_backup=False", reason);
  errors::check(settings_.native_segments && !is_refused_by_environment(), ErrorCode::cancelled,
                "the engine cannot run: {}; its native segment may not run (native_segments=False, or "
                "TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION)",
                reason);
  bool is_first = false;
  {
    const std::scoped_lock lock(mutex_);
    ++native_runs_;
    const bool known = native_reasons_.size() < 64 || native_reasons_.contains(reason);
    is_first = ++native_reasons_[known ? reason : "others"] == 1;
  }
  const NativeSession* native = nullptr;
  try {
    native = &session();
  } catch (const Error& error) {
    errors::fail(error.code(), "{}; {}", reason, error.message());
  }
  if (is_first && is_news)
    warn(fmt::format("{}: its native segment runs instead of its engine: {}", node_.name, reason));
  std::vector<TensorPtr> owned;
  std::vector<TF_Tensor*> inputs;
  for (int i = 0; i < api.TF_NumInputs(context); ++i) {
    TF_Tensor* tensor = nullptr;
    api.TF_GetInput(context, i, &tensor, status.get());
    if (!status.ok()) return;
    inputs.push_back(owned.emplace_back(tensor).get());
  }
  const std::vector<TF_Tensor*> results = native->run(inputs, status);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorPtr result(results[i]);
    if (status.ok()) api.TF_SetOutput(context, static_cast<int>(i), result.get(), status.get());
  }
}

void EngineEntry::run(TF_OpKernelContext* context, const Status& status) {
  const CurrentContext lends(context);
  bool is_news = true; // liblanner itself has warned of what its cache refuses
  const std::vector<Tensor> inputs = inputs_of(context);
  std::string reason = misfit(inputs);
  if (model()) {
    if (reason.empty()) {
      try {
        run_engine(context, inputs);
        return;
      } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_memory) throw;
        reason = reason_of(error);
        is_news = reason == error.message();
        if (reason.ends_with("(build_failed)")) reason += ": " + model_->counters().at(0).build_error;
      }
    }
  } else {
    const std::scoped_lock lock(mutex_);
    reason = build_error_;
  }
  run_native(context, reason, is_news, status);
}

std::string EngineEntry::statistics() const {
  const std::scoped_lock lock(mutex_);
  tf::EngineCounters counters;
  if (model_)
    if (auto all = model_->counters(); !all.empty()) counters = std::move(all.front());
  JsonObject made, natives;
  for (const auto& [reason, count] : native_reasons_) natives.add(reason, count);
  made.add("name", node_.name);
  made.add("id", id_);
  made.add("precision", node_.precision);
  made.add("engine", model_.has_value());
  made.add("folder", folder_);
  made.add("threads", static_cast<std::uint64_t>(threads_));
  made.add("maximum", counters.maximum);
  made.add("built", counters.built);
  made.add("hits", counters.hits);
  made.add("evicted", counters.evicted);
  made.add("runs", runs_);
  made.add("native_runs", native_runs_);
  made.add_raw("native", natives.text());
  made.add("build_error", !build_error_.empty()    ? build_error_
                          : session_error_.empty() ? counters.build_error
                                                   : session_error_);
  made.add("build_seconds", build_seconds_);
  made.add_raw("cached", json_of(counters.cached));
  made.add("weight_bytes", counters.weight_bytes);
  made.add("segment_bytes", static_cast<std::uint64_t>(graph_ ? graph_->size() : 0));
  made.add("native_bytes", native_bytes_);
  made.add("contexts", runners_);
  return made.text();
}

namespace {

struct Entries {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<EngineEntry>> known;
};
Entries& entries() {
  static Entries* made = new Entries; // kernels may die after static objects
  return *made;
}

} // namespace

std::shared_ptr<EngineEntry> entry_of(const Node& node, std::string graph, GraphAgain again,
                                      std::string_view config) {
  const Settings now = settings();
  const int threads = threads_of(now, config);
  const XXH128_hash_t hash =
      XXH3_128bits_withSeed(graph.data(), graph.size(), static_cast<std::uint64_t>(threads));
  Entries& all = entries();
  const std::scoped_lock lock(all.mutex);
  std::erase_if(all.known, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<EngineEntry>& known = all.known[{hash.high64, hash.low64}];
  std::shared_ptr<EngineEntry> entry = known.lock();
  if (!entry)
    known = entry = std::make_shared<EngineEntry>(node, std::move(graph), std::move(again), threads, now);
  return entry;
}

std::string all_statistics() {
  std::vector<std::shared_ptr<EngineEntry>> living;
  {
    Entries& all = entries();
    const std::scoped_lock lock(all.mutex);
    for (const auto& [hash, known] : all.known)
      if (auto entry = known.lock()) living.push_back(std::move(entry));
  }
  std::vector<std::string> texts;
  for (const auto& entry : living) texts.push_back(entry->statistics());
  std::ranges::sort(texts);
  return fmt::format("[{}]", fmt::join(texts, ","));
}

} // namespace lanner::tensorflow_ops
