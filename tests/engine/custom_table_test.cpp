// Incomplete, contradictory or invalid tables of operators: an Error of one line, at the call that detects
// it.

#include <cstdio>
#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "engine/custom_operators.h"
#include "expect_error.h"
#include "importers/onnx_file.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test;
using namespace test::onnx_file;

/// Overrides of the functions of the table under test, which doubles its input.
struct Acts {
  std::function<lanner_status(const lanner_node*, lanner_value*, char*)> infer;
  std::function<lanner_status(lanner_value*)> infer_at_run;
  std::function<lanner_status(const lanner_kernel*, lanner_storage*, lanner_storage*, char*)> supports;
  std::function<lanner_status(std::uint64_t*)> workspace;
  std::function<lanner_status(void**, char*)> create;
  std::function<lanner_status(void*, std::size_t, std::size_t*)> serialise;
  std::function<lanner_status(const void*, std::size_t, void**)> deserialise;
  std::function<lanner_status(const lanner_operand*, const lanner_operand*, char*)> run;
  lanner_status reference = LANNER_OK;
  bool has_reference = true;
  int destroyed = 0;
};

Acts& of(void* user) {
  return *static_cast<Acts*>(user);
}

void twice(const lanner_operand& x, const lanner_operand& y) {
  for (std::uint64_t i = 0; i < x.bytes / sizeof(float); ++i)
    static_cast<float*>(y.data)[i] = 2 * static_cast<const float*>(x.data)[i];
}

lanner_status say(char* message, lanner_status status, const char* text) {
  std::snprintf(message, LANNER_MESSAGE_BYTES, "%s", text);
  return status;
}

/// `own.Twice`, with the functions that `acts` has something for.
lanner_operator table(Acts& acts) {
  lanner_operator made{};
  made.struct_size = sizeof made;
  made.name = "own.Twice";
  made.version = 1;
  made.min_inputs = made.max_inputs = made.min_outputs = made.max_outputs = 1;
  made.user = &acts;
  made.infer = [](void* user, const lanner_node* node, lanner_value* outputs, char* message) {
    if (of(user).infer) return of(user).infer(node, outputs, message);
    outputs[0] = node->inputs[0];
    return lanner_status{LANNER_OK};
  };
  if (acts.infer_at_run)
    made.infer_at_run = [](void* user, const lanner_node*, const lanner_operand*, lanner_value* outputs,
                           char*) { return of(user).infer_at_run(outputs); };
  if (acts.has_reference)
    made.reference = [](void* user, const lanner_node*, const lanner_operand* inputs,
                        const lanner_operand* outputs, char*) {
      twice(inputs[0], outputs[0]);
      return of(user).reference;
    };
  if (acts.supports)
    made.supports = [](void* user, const lanner_node*, const lanner_kernel* kernel, lanner_storage* inputs,
                       lanner_storage* outputs,
                       char* message) { return of(user).supports(kernel, inputs, outputs, message); };
  if (acts.workspace)
    made.workspace = [](void* user, const lanner_node*, const lanner_kernel*, std::uint64_t* bytes, char*) {
      return of(user).workspace(bytes);
    };
  if (acts.create) {
    made.create = [](void* user, const lanner_node*, const lanner_kernel*, void** instance, char* message) {
      return of(user).create(instance, message);
    };
    made.destroy = [](void* user, void*) { ++of(user).destroyed; };
  }
  if (acts.serialise) {
    made.serialise = [](void* user, const void*, void* bytes, std::size_t capacity, std::size_t* size,
                        char*) { return of(user).serialise(bytes, capacity, size); };
    made.deserialise = [](void* user, const lanner_node*, const lanner_kernel*, const void* bytes,
                          std::size_t size, void** instance,
                          char*) { return of(user).deserialise(bytes, size, instance); };
  }
  made.run = [](void* user, void*, const lanner_operand* inputs, const lanner_operand* outputs, void*, void*,
                char* message) {
    twice(inputs[0], outputs[0]);
    return of(user).run ? of(user).run(inputs, outputs, message) : lanner_status{LANNER_OK};
  };
  return made;
}

Engine built(Acts& acts, double budget = 0, const std::string& size = "4") {
  BuildOptions options;
  options.environment.add_operator(table(acts));
  const TemporaryFolder verdicts; // tables under test are all of one name and version
  options.environment.set_cache_folder(verdicts.path());
  options.budget = budget;
  options.threads = 1;
  return test::built(
      model(graph({.nodes = {node({.op = "Twice", .inputs = {"x"}, .outputs = {"y"}, .domain = "own"})},
                   .inputs = {value("x", f32, {size, "6"})},
                   .outputs = {value("y", f32, {"?", "?"})}})),
      options);
}

std::vector<float> run(const Engine& engine) {
  Context context = engine.create_context();
  return numbers(context({{"x", Item(ramp({4, 6}, -10))}}).at("y").tensor);
}

std::vector<float> doubled() {
  std::vector<float> expected = numbers(ramp({4, 6}, -10));
  for (float& one : expected) one *= 2;
  return expected;
}

TEST(CustomTable, RunsWithTheRequiredFunctionsOnly) {
  Acts acts;
  EXPECT_EQ(run(built(acts)), doubled());
  acts.has_reference = false;
  EXPECT_EQ(run(built(acts, 0.2)), doubled());
}

TEST(CustomTable, MissingMembersAreRejected) {
  const auto refused = [](const char* said, const std::function<void(lanner_operator&)>& change) {
    Acts acts;
    acts.create = [](void**, char*) { return LANNER_OK; };
    acts.serialise = [](void*, std::size_t, std::size_t*) { return LANNER_OK; };
    lanner_operator changed = table(acts);
    change(changed);
    Environment environment;
    LANNER_EXPECT_ERROR(environment.add_operator(changed), ErrorCode::invalid_argument, said);
  };
  refused("without a name", [](auto& op) { op.name = nullptr; });
  refused("its name is not `domain.name`", [](auto& op) { op.name = "relu"; });
  refused("its name is not `domain.name`", [](auto& op) { op.name = "own."; });
  refused("its name is not `domain.name`", [](auto& op) { op.name = "own.a b"; });
  refused("struct_size", [](auto& op) { op.struct_size = 8; });
  refused("reserved", [](auto& op) { op.reserved = 1; });
  refused("min_inputs and max_inputs", [](auto& op) { op.min_inputs = 2; });
  refused("min_inputs and max_inputs", [](auto& op) { op.min_inputs = -1; });
  refused("min_outputs and max_outputs", [](auto& op) { op.min_outputs = 0; });
  refused("infer is missing", [](auto& op) { op.infer = nullptr; });
  refused("run and reference are both missing", [](auto& op) { op.run = nullptr, op.reference = nullptr; });
  refused("no function run", [](auto& op) { op.run = nullptr; });
  refused("create and destroy must be given together", [](auto& op) { op.destroy = nullptr; });
  refused("serialise and deserialise must be given together", [](auto& op) { op.deserialise = nullptr; });
  refused("has serialise but no create", [](auto& op) { op.create = nullptr, op.destroy = nullptr; });
}

TEST(CustomTable, InvalidInferredTypesAreRejected) {
  const auto refused = [](const char* said, const std::function<void(lanner_value&)>& change) {
    Acts acts;
    acts.infer = [&](const lanner_node* node, lanner_value* outputs, char*) {
      outputs[0] = node->inputs[0];
      change(outputs[0]);
      return LANNER_OK;
    };
    LANNER_EXPECT_ERROR(built(acts), ErrorCode::invalid_argument, said);
  };
  refused("operator own.Twice: infer: output 0 has dtype -1", [](auto& value) { value.dtype = -1; });
  refused("output 0 has dtype 13", [](auto& value) { value.dtype = LANNER_STRING; });
  refused("output 0 has dtype 26", [](auto& value) { value.dtype = 26; });
  refused("output 0 has rank 17", [](auto& value) { value.rank = 17; });
  refused("output 0 has rank -2", [](auto& value) { value.rank = LANNER_ABSENT; });
  refused("dim 1 of output 0 is -7, which is not the size of an input",
          [](auto& value) { value.dims[1] = -7; });
  refused("dim 1 of output 0 is -9223372036854775808", [](auto& value) { value.dims[1] = INT64_MIN; });
  refused("dim 0 of output 0 has max_dims -3",
          [](auto& value) { value.dims[0] = -1, value.max_dims[0] = -3; });
}

TEST(CustomTable, InferredSizesOverTheMemoryAreRejected) {
  Acts acts;
  acts.infer = [](const lanner_node* node, lanner_value* outputs, char*) {
    outputs[0] = node->inputs[0];
    outputs[0].dims[0] = INT64_MAX / 2;
    return LANNER_OK;
  };
  LANNER_EXPECT_ERROR(built(acts), ErrorCode::limit_exceeded, "");
}

TEST(CustomTable, ContradictionsAtRunAreRejected) {
  const auto refused = [](const char* said, const std::function<void(lanner_value&)>& change,
                          bool function = true) {
    Acts acts;
    acts.infer = [](const lanner_node* node, lanner_value* outputs, char*) {
      outputs[0] = node->inputs[0];
      outputs[0].dims[0] = LANNER_SIZE_UNKNOWN;
      outputs[0].max_dims[0] = 4;
      return LANNER_OK;
    };
    if (function)
      acts.infer_at_run = [&](lanner_value* outputs) {
        change(outputs[0]);
        return LANNER_OK;
      };
    const Engine engine = built(acts);
    LANNER_EXPECT_ERROR(run(engine), ErrorCode::invalid_argument, said);
  };
  refused("infer_at_run: output 0 is of unknown size", [](auto&) {});
  refused("infer_at_run: output 0 is [5, 6]", [](auto& value) { value.dims[0] = 5; });
  refused("infer_at_run: output 0 is [3, 7]", [](auto& value) { value.dims[0] = 3, value.dims[1] = 7; });
  refused(
      "there is no infer_at_run", [](auto&) {}, false);
}

TEST(CustomTable, InvalidStoragesAreRejected) {
  const auto refused = [](const char* said, const std::function<void(lanner_storage&)>& change) {
    Acts acts;
    acts.supports = [&](const lanner_kernel* kernel, lanner_storage* inputs, lanner_storage*, char*) {
      if (kernel->combination > 0) return lanner_status{LANNER_NOT_FOUND};
      change(inputs[0]);
      return lanner_status{LANNER_OK};
    };
    LANNER_EXPECT_ERROR(built(acts), ErrorCode::invalid_argument, said);
  };
  refused("operator own.Twice: supports: combination 0: dtype 99", [](auto& storage) { storage.dtype = 99; });
  refused("a storage has no layout", [](auto& storage) { storage.layout = nullptr; });
  refused("layout acdb does not fit shape [4, 6]", [](auto& storage) { storage.layout = "acdb"; });
}

TEST(CustomTable, FailuresNameTheFunction) {
  const auto refused = [](const char* said, ErrorCode code, const std::function<void(Acts&)>& change) {
    Acts acts;
    change(acts);
    LANNER_EXPECT_ERROR(run(built(acts)), code, said);
  };
  refused("operator own.Twice: infer: no such\\nthing", ErrorCode::unsupported, [](Acts& acts) {
    acts.infer = [](const lanner_node*, lanner_value*, char* message) {
      return say(message, LANNER_UNSUPPORTED, "no such\nthing");
    };
  });
  refused("operator own.Twice: infer: it failed with status 77", ErrorCode::internal, [](Acts& acts) {
    acts.infer = [](const lanner_node*, lanner_value*, char*) { return lanner_status{77}; };
  });
  refused("operator own.Twice: supports: it failed with status 3", ErrorCode::bad_data,
          [](Acts& acts) { acts.supports = [](auto...) { return lanner_status{LANNER_BAD_DATA}; }; });
  refused("operator own.Twice: workspace: it asks for", ErrorCode::invalid_argument, [](Acts& acts) {
    acts.has_reference = false;
    acts.workspace = [](std::uint64_t* bytes) { return *bytes = UINT64_MAX, LANNER_OK; };
  });
  refused("operator own.Twice: create: none left", ErrorCode::out_of_memory, [](Acts& acts) {
    acts.has_reference = false;
    acts.create = [](void**, char* message) { return say(message, LANNER_OUT_OF_MEMORY, "none left"); };
  });
  refused("operator own.Twice: serialise: 1048576 bytes: expected at most 65536", ErrorCode::invalid_argument,
          [](Acts& acts) {
            acts.create = [](void** instance, char*) { return *instance = instance, LANNER_OK; };
            acts.serialise = [](void*, std::size_t, std::size_t* size) { return *size = 1 << 20, LANNER_OK; };
          });
  refused("operator own.Twice: run: broken", ErrorCode::device, [](Acts& acts) {
    acts.has_reference = false;
    acts.run = [](const lanner_operand*, const lanner_operand*, char* message) {
      return say(message, LANNER_DEVICE, "broken");
    };
  });
}

/// An unterminated message is truncated, not read beyond its buffer.
TEST(CustomTable, UnterminatedMessageIsTruncated) {
  Acts acts;
  acts.infer = [](const lanner_node*, lanner_value*, char* message) {
    std::memset(message, 'x', LANNER_MESSAGE_BYTES);
    return lanner_status{LANNER_UNSUPPORTED};
  };
  LANNER_EXPECT_ERROR(built(acts), ErrorCode::unsupported, "infer: xxx");
}

/// A kernel that is wrong, or fails when checked, is replaced by the definition.
TEST(CustomTable, WrongKernelFallsBackToItsReference) {
  int runs = 0;
  Acts wrong;
  wrong.run = [&](const lanner_operand*, const lanner_operand* outputs, char*) {
    ++runs;
    static_cast<float*>(outputs[0].data)[0] += 1;
    return LANNER_OK;
  };
  EXPECT_EQ(run(built(wrong, 0.5)), doubled());
  EXPECT_GE(runs, 1);
  runs = 0;
  Acts fails;
  fails.run = [&](const lanner_operand*, const lanner_operand*, char* message) {
    ++runs;
    return say(message, LANNER_DEVICE, "not today");
  };
  EXPECT_EQ(run(built(fails, 0.5)), doubled());
  EXPECT_GE(runs, 1);
}

TEST(CustomTable, InstancesAreDestroyed) {
  int created = 0;
  Acts acts;
  acts.create = [&](void** instance, char*) {
    ++created;
    *instance = &created;
    return LANNER_OK;
  };
  EXPECT_EQ(run(built(acts, 0.2)), doubled());
  EXPECT_GE(created, 1);
  EXPECT_EQ(acts.destroyed, created);
}

} // namespace
} // namespace lanner
