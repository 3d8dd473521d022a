#include "ops/table/custom.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include <fmt/format.h>

#include <lanner/dtype.h>

#include "base/check.h"
#include "base/text/one_line.h"
#include "device/memory.h"

namespace lanner {
namespace {

constexpr int max_combinations = 64;
constexpr std::size_t max_state_bytes = 64 << 10;
constexpr std::uint64_t max_workspace = std::uint64_t{1} << 46;

/// Identifies a definition as a custom operator, see custom_operator().
struct CustomInference {
  std::shared_ptr<const CustomOperator> op;
  void operator()(InferContext& context) const { op->infer(context); }
};

/// `domain.name`, in letters, digits and `_`.
bool is_operator_name(std::string_view name) {
  bool begins = true, parts = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (c == '.' && !begins) {
      begins = parts = true;
      continue;
    }
    const bool fits = c == '_' || (begins ? std::isalpha(letter) : std::isalnum(letter)) != 0;
    if (!fits) return false;
    begins = false;
  }
  return parts && !begins;
}

bool are_counts(int least, int most, int smallest) {
  return least >= smallest && (most == OpDef::any || most >= least);
}

} // namespace

CustomInstance::~CustomInstance() {
  if (handle_ && op_->table_.destroy) op_->table_.destroy(op_->table_.user, handle_);
}

CustomOperator::CustomOperator(const lanner_operator& table)
    : table_(table), name_(table.name ? table.name : "") {
  const auto require = [&](bool holds, const char* what) {
    check(holds, ErrorCode::invalid_argument, "operator {}: {}", name_.empty() ? "without a name" : name_,
          what);
  };
  require(table.struct_size == sizeof table, "struct_size differs from sizeof(lanner_operator)");
  require(name_.size() <= 200 && is_operator_name(name_),
          "its name is not `domain.name` of letters, digits and _");
  require(table.reserved == 0, "reserved is not 0");
  require(are_counts(table.min_inputs, table.max_inputs, 0),
          "min_inputs and max_inputs are not a valid range");
  require(are_counts(table.min_outputs, table.max_outputs, 1),
          "min_outputs and max_outputs are not a valid range");
  require(table.infer != nullptr, "the function infer is missing");
  require(table.run || table.reference, "the functions run and reference are both missing: expected one");
  require(table.run || (!table.supports && !table.workspace && !table.create),
          "it has functions for kernels but no function run");
  require(!table.create == !table.destroy, "create and destroy must be given together");
  require(!table.serialise == !table.deserialise, "serialise and deserialise must be given together");
  require(table.create || !table.serialise, "it has serialise but no create");
  table_.name = nullptr; // owned by the caller
}

void CustomOperator::failed(const char* what, lanner_status status, char* message) const {
  message[LANNER_MESSAGE_BYTES - 1] = 0;
  const bool known = status >= LANNER_INVALID_ARGUMENT && status <= LANNER_INTERNAL;
  fail(known ? static_cast<ErrorCode>(status - 1) : ErrorCode::internal, "operator {}: {}: {}", name_, what,
       *message ? one_line(message, LANNER_MESSAGE_BYTES) : fmt::format("it failed with status {}", status));
}

void CustomOperator::nonsense(const char* what, const std::string& why) const {
  fail(ErrorCode::invalid_argument, "operator {}: {}: {}", name_, what, why);
}

void CustomOperator::check_value(const char* what, std::size_t i, const lanner_value& value,
                                 const CustomNode& node) const {
  const bool type =
      value.dtype >= 0 && value.dtype < static_cast<int>(dtype_count) && value.dtype != LANNER_STRING;
  if (!type) nonsense(what, fmt::format("output {} has dtype {}: expected a numeric one", i, value.dtype));
  if (value.rank < LANNER_RANK_UNKNOWN || value.rank > LANNER_MAX_DIMS)
    nonsense(what, fmt::format("output {} has rank {}: expected at most {}", i, value.rank, LANNER_MAX_DIMS));
  for (int d = 0; d < value.rank; ++d) {
    const std::int64_t size = value.dims[d];
    if (size == LANNER_SIZE_UNKNOWN && value.max_dims[d] < 0)
      nonsense(what, fmt::format("dim {} of output {} has max_dims {}, expected 0 or more", d, i,
                                 value.max_dims[d]));
    if (size < LANNER_SIZE_UNKNOWN && !node.unknown(size))
      nonsense(what, fmt::format("dim {} of output {} is {}, which is not the size of an input", d, i, size));
  }
  if (is_known(value)) static_cast<void>(Layout{}.bytes(shape_of(value), static_cast<DType>(value.dtype)));
}

void CustomOperator::infer_outputs(CustomNode& node) const {
  lanner_node shown = node.shown();
  shown.outputs = nullptr;
  std::vector<lanner_value> outputs(shown.output_count, unknown_value());
  call("infer", [&](char* message) { return table_.infer(table_.user, &shown, outputs.data(), message); });
  for (std::size_t i = 0; i < outputs.size(); ++i) check_value("infer", i, outputs[i], node);
  node.set_outputs(std::move(outputs));
}

void CustomOperator::infer(InferContext& context) const {
  CustomNode node(context);
  infer_outputs(node);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const lanner_value& value = node.outputs()[i];
    const auto type = static_cast<DType>(value.dtype);
    if (value.rank == LANNER_RANK_UNKNOWN) {
      context.set_output(i, Type::unranked(type));
      continue;
    }
    Dims dims;
    for (int d = 0; d < value.rank; ++d) {
      const std::int64_t size = value.dims[d];
      dims.push_back(size >= 0                     ? Dim(size)
                     : size == LANNER_SIZE_UNKNOWN ? context.fresh("custom", Dim(value.max_dims[d]))
                                                   : *node.unknown(size));
    }
    context.set_output(i, Type(type, std::move(dims)));
  }
}

/// Sizes unknown to inference, from the inputs' elements; they must not contradict it.
void CustomOperator::infer_at_run(CustomNode& node, std::span<const lanner_operand> inputs) const {
  const std::vector<lanner_value> inferred = node.outputs();
  if (std::ranges::all_of(inferred, is_known)) return;
  if (!table_.infer_at_run)
    nonsense("infer", "it leaves a size open though all inputs are known, and there is no infer_at_run");
  std::vector<lanner_value> outputs = inferred;
  lanner_node shown = node.shown();
  shown.outputs = nullptr;
  call("infer_at_run", [&](char* message) {
    return table_.infer_at_run(table_.user, &shown, inputs.data(), outputs.data(), message);
  });
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const lanner_value &before = inferred[i], &now = outputs[i];
    check_value("infer_at_run", i, now, node);
    bool fits = is_known(now) && now.dtype == before.dtype && (before.rank < 0 || now.rank == before.rank);
    for (int d = 0; fits && d < before.rank; ++d)
      fits = before.dims[d] >= 0 ? now.dims[d] == before.dims[d] : now.dims[d] <= before.max_dims[d];
    if (!fits)
      nonsense("infer_at_run", fmt::format("output {} is {}, which contradicts infer or is unknown", i,
                                           is_known(now) ? shape_of(now).to_string() : "of unknown size"));
  }
  node.set_outputs(std::move(outputs));
}

void CustomOperator::reference(KernelContext& context) const {
  CustomNode node(context);
  std::vector<CustomOperand> forms;
  std::vector<lanner_operand> inputs, outputs;
  forms.reserve(context.inputs() + context.outputs());
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    const Tensor* tensor = context.has(i) ? &context.input(i) : nullptr;
    forms.push_back(tensor ? CustomOperand(tensor->dtype(), tensor->shape(), "row") : CustomOperand());
    inputs.push_back(forms.back().at(tensor ? tensor->data() : nullptr));
  }
  infer_outputs(node);
  infer_at_run(node, inputs);
  for (std::size_t i = 0; i < context.outputs(); ++i) {
    const auto type = static_cast<DType>(node.outputs()[i].dtype);
    const Shape shape = shape_of(node.outputs()[i]);
    forms.emplace_back(type, shape, "row");
    outputs.push_back(forms.back().at(context.allocate(i, type, shape).data()));
  }
  if (!table_.reference) return run_plain(node, inputs, outputs, context.threads());
  const lanner_node shown = node.shown();
  call("reference", [&](char* message) {
    return table_.reference(table_.user, &shown, inputs.data(), outputs.data(), message);
  });
}

void CustomOperator::run_plain(const CustomNode& node, std::span<const lanner_operand> inputs,
                               std::span<const lanner_operand> outputs, int threads) const {
  const auto plain = [](const std::vector<lanner_storage>& storages,
                        const std::vector<lanner_value>& values) {
    return std::ranges::equal(storages, values, [](const lanner_storage& storage, const lanner_value& value) {
      return storage.dtype == value.dtype && storage.layout && std::string_view(storage.layout) == "row";
    });
  };
  for (const CustomCombination& one : combinations(node, {}, threads)) {
    if (!plain(one.inputs, node.inputs()) || !plain(one.outputs, node.outputs())) continue;
    const CustomInstance instance = create(node, one.kernel);
    const auto scratch = allocate_memory({}, workspace(node, one.kernel));
    return run(instance, inputs, outputs, scratch.get(), nullptr);
  }
  fail(ErrorCode::unsupported,
       "operator {}: it has no reference, and none of its kernels takes row-major operands on the host",
       name_);
}

std::vector<CustomCombination> CustomOperator::combinations(const CustomNode& node, Device device,
                                                            int threads, std::string* reason) const {
  std::vector<CustomCombination> found;
  if (!table_.run) {
    if (reason) *reason = "it has no kernels";
    return found;
  }
  const lanner_node shown = node.shown();
  const auto plain = [](const std::vector<lanner_value>& values) {
    std::vector<lanner_storage> storages;
    for (const lanner_value& value : values) storages.push_back({value.dtype, "row"});
    return storages;
  };
  for (int number = 0; number < max_combinations; ++number) {
    CustomCombination one{
        {sizeof(lanner_kernel), static_cast<lanner_device_kind>(device.kind), device.index, number, threads},
        plain(node.inputs()),
        plain(node.outputs())};
    if (!table_.supports) {
      if (device.is_host() && number == 0) found.push_back(std::move(one));
      break;
    }
    char message[LANNER_MESSAGE_BYTES] = "";
    const lanner_status status =
        table_.supports(table_.user, &shown, &one.kernel, one.inputs.data(), one.outputs.data(), message);
    if (status == LANNER_NOT_FOUND) break;
    if (status != LANNER_OK && status != LANNER_UNSUPPORTED) failed("supports", status, message);
    message[LANNER_MESSAGE_BYTES - 1] = 0;
    if (status == LANNER_UNSUPPORTED && reason) *reason = one_line(message, LANNER_MESSAGE_BYTES);
    if (status == LANNER_OK) found.push_back(std::move(one));
  }
  if (found.empty() && reason && reason->empty())
    *reason = fmt::format("it has no kernels for {}", device.to_string());
  return found;
}

std::uint64_t CustomOperator::workspace(const CustomNode& node, const lanner_kernel& kernel) const {
  if (!table_.workspace) return 0;
  std::uint64_t bytes = 0;
  const lanner_node shown = node.shown();
  call("workspace",
       [&](char* message) { return table_.workspace(table_.user, &shown, &kernel, &bytes, message); });
  if (bytes > max_workspace) nonsense("workspace", fmt::format("it asks for {} bytes", bytes));
  return bytes;
}

CustomInstance CustomOperator::create(const CustomNode& node, const lanner_kernel& kernel) const {
  void* handle = nullptr;
  const lanner_node shown = node.shown();
  if (table_.create)
    call("create",
         [&](char* message) { return table_.create(table_.user, &shown, &kernel, &handle, message); });
  return {*this, handle};
}

CustomInstance CustomOperator::create(const CustomNode& node, const lanner_kernel& kernel,
                                      std::span<const std::byte> state) const {
  void* handle = nullptr;
  const lanner_node shown = node.shown();
  call("deserialise", [&](char* message) {
    return table_.deserialise(table_.user, &shown, &kernel, state.data(), state.size(), &handle, message);
  });
  return {*this, handle};
}

std::vector<std::byte> CustomOperator::serialised(const CustomInstance& instance) const {
  std::size_t size = 0;
  const auto ask = [&](std::span<std::byte> into) {
    call("serialise", [&](char* message) {
      return table_.serialise(table_.user, instance.handle(), into.data(), into.size(), &size, message);
    });
    if (size > max_state_bytes)
      nonsense("serialise", fmt::format("{} bytes: expected at most {}", size, max_state_bytes));
  };
  ask({});
  std::vector<std::byte> state(size);
  ask(state);
  if (size != state.size()) nonsense("serialise", "it returns another size at the second call");
  return state;
}

void CustomOperator::run(const CustomInstance& instance, std::span<const lanner_operand> inputs,
                         std::span<const lanner_operand> outputs, void* workspace, void* stream) const {
  call("run", [&](char* message) {
    return table_.run(table_.user, instance.handle(), inputs.data(), outputs.data(), workspace, stream,
                      message);
  });
}

OpDef custom_op(std::shared_ptr<const CustomOperator> op) {
  OpDef def;
  def.name = op->name();
  def.min_inputs = op->min_inputs();
  def.max_inputs = op->max_inputs();
  def.min_outputs = op->min_outputs();
  def.max_outputs = op->max_outputs();
  def.attributes = {{"attributes", AttributeKind::string, false, std::string("{}")}};
  def.reference = [op](KernelContext& context) { op->reference(context); };
  def.infer = CustomInference{std::move(op)};
  return def;
}

const CustomOperator* custom_operator(const OpDef& op) {
  const auto* inference = op.infer.target<CustomInference>();
  return inference ? inference->op.get() : nullptr;
}

} // namespace lanner
