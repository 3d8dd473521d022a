#include "backends/tactic_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/backends.h"
#include "backends/reference/reference_backend.h"
#include "device/cpu.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "graph/op.h"
#include "graph/parsed.h"
#include "graph/storage/within.h"
#include "lower/check/trial_parts.h"
#include "lower/propose/alternatives.h"
#include "program/lowered/lowered.h"

namespace lanner {

namespace {

constexpr unsigned char between = 0xFF; ///< Bytes between the slices of a part: NaN patterns.

Tensor random_tensor(const Type& type, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Tensor real = Tensor::allocate(DType::f32, type.shape());
  std::normal_distribution<float> normal(0, 1);
  for (float& value : real.as<float>()) value = normal(generator) * (is_float(type.dtype()) ? 1.0F : 3.0F);
  if (type.dtype() == DType::f32) return real;
  Tensor result = Tensor::allocate(type.dtype(), type.shape());
  copy_tensor(real, result);
  return result;
}

using Values = std::map<const Value*, Tensor>;

void run_reference(const Node& node, Values& values);

void run_body(const Node& node, Values& values) {
  const Region& body = *node.regions().front();
  for (std::size_t i = 0; i < body.parameters().size(); ++i)
    values[body.parameter(i)] = values.at(node.input(i));
  for (const auto& inner : body.nodes()) run_reference(*inner, values);
  for (std::size_t i = 0; i < body.outputs().size(); ++i)
    values[node.output(i)] = values.at(body.outputs()[i]);
}

void run_reference(const Node& node, Values& values) {
  if (const Tensor* constant = node.output()->constant()) {
    values[node.output()] = *constant;
    return;
  }
  if (!node.regions().empty()) return run_body(node, values);
  std::vector<const void*> inputs;
  for (const Value* value : node.inputs()) inputs.push_back(value ? values.at(value).data() : nullptr);
  std::vector<void*> outputs;
  for (const auto& value : node.outputs()) {
    values[value.get()] = Tensor::allocate(value->type.dtype(), value->type.shape());
    outputs.push_back(values[value.get()].data());
  }
  Tactic plain;
  plain.inputs.resize(node.inputs().size());
  plain.outputs.resize(node.outputs().size());
  reference_backend().prepare(node, plain, {}, {})->launch({inputs, outputs, nullptr, {}});
}

Tensor packed(const Tensor& tensor, const Storage& storage) {
  if (storage.within) {
    Storage whole = storage;
    whole.device = {};
    Tensor part = Tensor::allocate(storage.dtype.value_or(tensor.dtype()), tensor.shape());
    copy_tensor(tensor, part);
    return spread_part(part, whole, between);
  }
  Tensor result = Tensor::zeros(storage.dtype.value_or(tensor.dtype()), tensor.shape(), storage.layout);
  copy_tensor(tensor, result);
  return result;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.to(Device{}).data(), b.data(), a.bytes()) == 0;
}

/// Halves have their own tolerance: sums of rounded products.
double tolerance_of(DType type, double given) {
  return type == DType::f16 ? 1e-2 : type == DType::bf16 ? 5e-2 : given;
}

Tensor as_f32(const Tensor& tensor) {
  Tensor result = Tensor::allocate(DType::f32, tensor.shape(), tensor.layout());
  copy_tensor(tensor.to(Device{}), result);
  return result;
}

/// Compares all of the storage, padding included.
void expect_close(const Tensor& found, const Tensor& expected, double tolerance, const std::string& what) {
  const DType type = expected.dtype();
  if (type != DType::f32 && type != DType::f16 && type != DType::bf16) {
    EXPECT_TRUE(same_bytes(found, expected)) << what;
    return;
  }
  const Tensor got = as_f32(found), wanted = as_f32(expected);
  tolerance = tolerance_of(type, tolerance);
  double largest = 1;
  for (float value : wanted.as<float>())
    if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  const auto a = got.as<float>(), b = wanted.as<float>();
  for (std::size_t i = 0; i < b.size(); ++i) {
    const bool equal = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (equal || std::abs(static_cast<double>(a[i]) - b[i]) <= tolerance * largest) continue;
    FAIL() << what << ": element " << i << " of " << b.size() << " is " << a[i] << ", expected " << b[i];
  }
}

std::string describe(const Backend& backend, const Tactic& tactic) {
  std::string text = std::string(backend.name()) + "/" + tactic.kernel + " [" +
                     std::string(reinterpret_cast<const char*>(tactic.config.data()), tactic.config.size()) +
                     "]";
  const auto add = [&](const Storage& storage) {
    text += " " + storage.layout.to_string();
    if (storage.within) text += fmt::format(" within={}:{}", storage.within.axis, storage.within.size);
  };
  for (const Storage& storage : tactic.inputs) add(storage);
  text += " ->";
  for (const Storage& storage : tactic.outputs) add(storage);
  return text;
}

void check_tactic(const NodeCase& node_case, const Backend& backend, const Tactic& tactic,
                  const Target& target, double tolerance) {
  const std::string what = describe(backend, tactic);
  SCOPED_TRACE(what);
  ReadyTactic ready = make_ready(node_case, backend, tactic, target);
  if (tactic.required_in_place) ready.outputs[0] = ready.inputs[static_cast<std::size_t>(tactic.in_place)];
  std::vector<Tensor> before;
  for (std::size_t i = 0; i < ready.inputs.size(); ++i)
    before.push_back(ready.inputs[i].defined() ? packed(node_case.inputs[i], tactic.inputs[i]) : Tensor{});
  ready.launch();
  for (std::size_t i = 0; i < node_case.results.size(); ++i) {
    Storage storage = tactic.outputs[i];
    Tensor found = ready.outputs[i];
    if (storage.within) {
      const Shape shape = node_case.results[i].shape();
      EXPECT_TRUE(kept_between(found.to(Device{}), storage, shape, between)) << what;
      found = part_within(found.to(Device{}), storage, shape);
      storage.within = {};
      storage.layout = {};
    }
    expect_close(found, packed(node_case.results[i], storage), tolerance, what);
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!before[i].defined() || (tactic.required_in_place && static_cast<int>(i) == tactic.in_place))
      continue;
    EXPECT_TRUE(same_bytes(ready.inputs[i], before[i])) << what << ": input " << i << " was written";
  }
}

/// Runs the same kernel with all values that it takes strided lying within values larger along one axis.
std::optional<Tactic> within_larger(const NodeCase& node_case, const Tactic& tactic, std::size_t axis) {
  bool any = false;
  const auto withins = [&](const std::vector<AxisSet>& strided, const std::vector<Storage>& storages,
                           const auto& value_of) {
    std::vector<Within> list(storages.size());
    for (std::size_t i = 0; i < std::min(strided.size(), storages.size()); ++i) {
      const Value* value = value_of(i);
      if (!strided[i].contains(static_cast<int>(axis)) || !value || value->constant() ||
          value->type.rank() <= axis || !storages[i].layout.blocks.empty())
        continue;
      // Rows start at vector alignment.
      list[i] = {static_cast<int>(axis), (value->type.shape()[axis] / 8 + 2) * 8};
      any = true;
    }
    return list;
  };
  const Node& node = *node_case.node;
  const auto inputs =
                 withins(tactic.strided_inputs, tactic.inputs, [&](std::size_t i) { return node.input(i); }),
             outputs = withins(tactic.strided_outputs, tactic.outputs,
                               [&](std::size_t i) { return node.output(i); });
  if (!any || tactic.required_in_place) return std::nullopt;
  return lying_as(tactic, inputs, outputs);
}

/// A library may only know for a kernel with all its strides whether it is supported; trials then refuse it.
bool is_supported(const NodeCase& node_case, const Backend& backend, const Tactic& strided,
                  const Target& target) {
  try {
    make_ready(node_case, backend, strided, target);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return false;
  }
}

std::vector<Tactic> all_tactics(const Backend& backend, const Node& node, const Target& target) {
  std::vector<Tactic> list = backend.tactics(node, target).tactics;
  std::ranges::move(backend.more_tactics(node, target).tactics, std::back_inserter(list));
  return list;
}

std::vector<std::string> described(const Backend& backend, const std::vector<Tactic>& tactics) {
  std::vector<std::string> list;
  for (const Tactic& tactic : tactics) list.push_back(describe(backend, tactic));
  return list;
}

/// A lowered node with this tactic finds it again, as a loaded plan must.
void expect_named(const NodeCase& node_case, const Backend& backend, const Tactic& tactic,
                  const Target& target) {
  Node& node = *node_case.node;
  std::map<Value*, Storage> before;
  const std::vector<Value*> inputs(node.inputs().begin(), node.inputs().end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value* value = inputs[i];
    if (!value) continue;
    if (before.emplace(value, value->storage).second) value->storage = tactic.inputs[i];
    if (same_storage(value->type, value->storage, tactic.inputs[i])) continue;
    // Read twice in two storages: one comes from a reorder.
    Value* other = node_case.graph->emit("reorder", std::vector{value}, {}, value->type, "again", &node);
    other->storage = tactic.inputs[i];
    node.set_input(i, other);
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    before.emplace(node.output(i), node.output(i)->storage);
    node.output(i)->storage = tactic.outputs[i];
  }
  node.tactic = {std::string(backend.name()), tactic.kernel, tactic.config};
  const std::array backends{&backend};
  EXPECT_TRUE(find_offered(node, backends, target)) << describe(backend, tactic);
  node.tactic = {};
  for (const auto& [value, storage] : before) value->storage = storage;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (node.input(i) == inputs[i]) continue;
    Node* reorder = node.input(i)->producer();
    node.set_input(i, inputs[i]);
    node_case.graph->body().erase(reorder);
  }
}

std::string missing_backend_of(const std::string& kernel) {
  return missing_backend(kernel.substr(0, kernel.find('/')));
}

} // namespace

std::string missing_backend(std::string_view name) {
  for (const BackendStatus& status : backend_statuses())
    if (status.name == name && !status.found) return status.detail;
  return {};
}

void expect_offered(const std::set<std::string>& ran, const std::vector<std::string>& kernels) {
  for (const std::string& kernel : kernels) {
    if (ran.contains(kernel)) continue;
    const std::string missing = missing_backend_of(kernel);
    if (!missing.empty()) GTEST_SKIP() << kernel << " is not checked: " << missing;
    ADD_FAILURE() << kernel << " was not offered, these were: " << fmt::format("{}", fmt::join(ran, ", "));
  }
}

void expect_refused(const std::set<std::string>& ran, const std::vector<std::string>& kernels) {
  for (const std::string& kernel : kernels) {
    const std::string missing = missing_backend_of(kernel);
    if (!missing.empty()) GTEST_SKIP() << kernel << " is not checked: " << missing;
    EXPECT_FALSE(ran.contains(kernel)) << kernel << " was offered";
  }
}

NodeCase make_case(std::string_view ir, const std::vector<Tensor>& given) {
  NodeCase result;
  result.graph = test::parsed(ir);
  const Region& body = result.graph->body();
  result.node = body.nodes().back().get();
  Values values;
  std::uint64_t seed = 1;
  for (const auto& parameter : body.parameters()) {
    values[parameter.get()] = seed <= given.size() ? given[seed - 1] : random_tensor(parameter->type, seed);
    ++seed;
  }
  for (const auto& node : body.nodes()) run_reference(*node, values);
  for (const Value* value : result.node->inputs())
    result.inputs.push_back(value ? values.at(value) : Tensor{});
  for (const auto& value : result.node->outputs()) result.results.push_back(values.at(value.get()));
  return result;
}

ReadyTactic make_ready(const NodeCase& node_case, const Backend& backend, const Tactic& tactic,
                       const Target& target) {
  ReadyTactic ready;
  std::vector<const Tensor*> constants;
  for (std::size_t i = 0; i < node_case.inputs.size(); ++i)
    ready.inputs.push_back(node_case.inputs[i].defined() ? packed(node_case.inputs[i], tactic.inputs.at(i))
                                                         : Tensor{});
  const std::vector<Tensor> host = ready.inputs;
  for (std::size_t i = 0; i < ready.inputs.size(); ++i) {
    const Value* value = node_case.node->input(i);
    constants.push_back(value && value->constant() ? &host[i] : nullptr);
    if (ready.inputs[i].defined()) ready.inputs[i] = ready.inputs[i].to(tactic.inputs.at(i).device);
  }
  ready.kernel = backend.prepare(*node_case.node, tactic, constants, target);
  for (std::size_t i = 0; i < node_case.results.size(); ++i) {
    const Tensor& result = node_case.results[i];
    const Storage& storage = tactic.outputs.at(i);
    ready.outputs.push_back(Tensor::allocate(storage.dtype.value_or(result.dtype()),
                                             memory_shape(storage, result.shape()), storage.layout));
    std::memset(ready.outputs.back().data(), between, ready.outputs.back().bytes());
    ready.outputs.back() = ready.outputs.back().to(storage.device);
  }
  ready.device = ready.kernel->on_stream() ? target.device : Device{};
  ready.workspace = Tensor::allocate(DType::u8, Shape{static_cast<std::int64_t>(ready.kernel->workspace())},
                                     {}, ready.device);
  return ready;
}

void ReadyTactic::launch() {
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const Tensor& tensor : inputs) from.push_back(tensor.data());
  for (Tensor& tensor : outputs) to.push_back(tensor.data());
  if (device.is_host()) return kernel->launch({from, to, workspace.data(), {}});
  const cuda::Current current(cuda::Gpu::get(device));
  kernel->launch({from, to, workspace.data(), {}});
  synchronize(device);
}

TacticCheck storing_bf16() {
  TacticCheck check;
  check.precisions = {DType::f32, DType::bf16};
  check.narrow_only = true;
  return check;
}

std::string missing_bf16_products() {
  if (!cpu_features().avx512_bf16) return "no AVX512-BF16: this processor multiplies no bf16";
  return missing_backend("onednn");
}

static bool is_narrow(const Tactic& tactic) {
  const auto half = [](const Storage& storage) {
    return storage.dtype == DType::f16 || storage.dtype == DType::bf16;
  };
  return std::ranges::any_of(tactic.inputs, half) || std::ranges::any_of(tactic.outputs, half);
}

/// Whether this process checks the tactic of that number: LANNER_TACTICS_PART=3/16 leaves the others to 15
/// more processes, for tools under which each tactic takes seconds.
static bool is_in_part(std::size_t number) {
  const char* text = std::getenv("LANNER_TACTICS_PART");
  if (!text) return true;
  std::size_t part = 0, parts = 0;
  if (std::sscanf(text, "%zu/%zu", &part, &parts) != 2 || part >= parts)
    throw std::runtime_error(
        std::string("LANNER_TACTICS_PART: expected a part from 0 on such as 3/16, got ") + text);
  return number % parts == part;
}

std::set<std::string> check_tactics(std::string_view ir, const TacticCheck& check) {
  SCOPED_TRACE(ir);
  const NodeCase node_case = make_case(ir);
  Target target;
  target.threads = check.threads;
  target.device = check.device;
  target.precision.types = {check.precisions.begin(), check.precisions.end()};
  if (target.precision.allows(DType::bf16)) target.isa = "avx512_bf16"; // without which a CPU stores none
  std::set<std::string> ran;
  std::size_t number = 0;
  for (const Backend* backend : backends_for(target)) {
    if (backend->device() != check.device.kind) continue;
    const std::vector<Tactic> offered = all_tactics(*backend, *node_case.node, target);
    const auto run = [&](const Tactic& tactic) {
      if (!is_in_part(number++)) return;
      check_tactic(node_case, *backend, tactic, target, check.tolerance);
      expect_named(node_case, *backend, tactic, target);
    };
    for (const Tactic& tactic : offered) {
      if (check.without.contains(tactic.kernel) || (check.narrow_only && !is_narrow(tactic))) continue;
      run(tactic);
      for (std::size_t axis = 0; axis < 4; ++axis) {
        const auto strided = within_larger(node_case, tactic, axis);
        if (!strided || !is_supported(node_case, *backend, *strided, target)) continue;
        run(*strided);
        ran.insert(std::string(backend->name()) + "/" + tactic.kernel + " strided");
      }
      ran.insert(std::string(backend->name()) + "/" + tactic.kernel);
    }
    if (check.narrow_only) continue;
    const std::vector<std::string> names = described(*backend, offered);
    for (const Tactic& tactic : backend->late_tactics(*node_case.node, target).tactics) {
      if (std::ranges::find(names, describe(*backend, tactic)) != names.end()) continue;
      check_tactic(node_case, *backend, tactic, target, check.tolerance);
      ran.insert(std::string(backend->name()) + "/" + tactic.kernel + " late");
    }
    // Running tactics does not change the offers.
    EXPECT_EQ(names, described(*backend, all_tactics(*backend, *node_case.node, target)));
  }
  return ran;
}

} // namespace lanner
