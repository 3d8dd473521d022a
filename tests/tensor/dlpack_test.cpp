#include <lanner/dlpack.h>

#include <cstddef>
#include <numeric>

#include "expect_error.h"
#include <lanner/dlpack_structs.h>

namespace lanner {
namespace {

/// A managed tensor of the test's own that counts how often its deleter runs.
struct Foreign {
  std::vector<float> data = std::vector<float>(24);
  std::vector<std::int64_t> shape, strides;
  int deleted = 0;
  DLManagedTensor managed{};

  Foreign(std::vector<std::int64_t> sizes, std::vector<std::int64_t> steps)
      : shape(std::move(sizes)), strides(std::move(steps)) {
    std::iota(data.begin(), data.end(), 0.0f);
    managed.dl_tensor.data = data.data();
    managed.dl_tensor.device = {kDLCPU, 0};
    managed.dl_tensor.ndim = static_cast<std::int32_t>(shape.size());
    managed.dl_tensor.dtype = {kDLFloat, 32, 1};
    managed.dl_tensor.shape = shape.data();
    managed.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
  }
};

// Sizes and offsets on 64-bit machines, from the specification's members and natural alignment.
static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, shape) == 24);
static_assert(sizeof(DLManagedTensor) == 64);
static_assert(sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

TEST(DLPack, RoundTripSharesMemory) {
  for (const char* text : {"row", "acdb"}) {
    const Tensor tensor = Tensor::zeros(DType::i16, {2, 3, 4, 5}, Layout::parse(text));
    const Tensor back = from_dlpack(to_dlpack(tensor));
    EXPECT_EQ(back.data(), tensor.data());
    EXPECT_EQ(back.dtype(), DType::i16);
    EXPECT_EQ(back.layout(), tensor.layout());
    EXPECT_EQ(back.shape(), tensor.shape());
    EXPECT_EQ(from_dlpack(to_dlpack_versioned(tensor)).data(), tensor.data());
  }
}

TEST(DLPack, EveryTypeButStrings) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto type = static_cast<DType>(i);
    const Tensor tensor = Tensor::zeros(type, {3});
    if (type == DType::string) {
      LANNER_EXPECT_ERROR(to_dlpack(tensor), ErrorCode::unsupported, "string");
      continue;
    }
    EXPECT_EQ(from_dlpack(to_dlpack(tensor)).dtype(), type);
  }
}

TEST(DLPack, ExportKeepsMemoryAlive) {
  DLManagedTensorVersioned* managed = nullptr;
  std::weak_ptr<const void> owner;
  {
    const Tensor tensor = Tensor::zeros(DType::f32, {4});
    owner = tensor.owner();
    managed = to_dlpack_versioned(tensor);
  }
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_FALSE(owner.expired());
  managed->deleter(managed);
  EXPECT_TRUE(owner.expired());
}

TEST(DLPack, RefusesBlocks) {
  const Tensor tensor = Tensor::zeros(DType::f32, {1, 16, 2, 2}, Layout::parse("aBcd8b"));
  LANNER_EXPECT_ERROR(to_dlpack(tensor), ErrorCode::unsupported, "aBcd8b");
}

TEST(DLPack, DeleterRunsWithTheLastView) {
  Foreign foreign({2, 3, 4}, {});
  {
    Tensor view;
    {
      const Tensor tensor = from_dlpack(&foreign.managed);
      EXPECT_EQ(tensor.data(), foreign.data.data());
      view = tensor.reshaped({24});
    }
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
}

TEST(DLPack, StridesBecomeLayouts) {
  Foreign last({1, 4, 2, 3}, {99, 1, 12, 4}); // The stride of a dimension of size 1 is meaningless.
  EXPECT_EQ(from_dlpack(&last.managed).layout(), Layout::channels_last(4));
  Foreign natural({2, 1, 12}, {12, 5, 1});
  EXPECT_TRUE(from_dlpack(&natural.managed).layout().row_major());
  Foreign offset({2}, {1});
  offset.managed.dl_tensor.byte_offset = 8;
  EXPECT_EQ(from_dlpack(&offset.managed).as<float>()[0], 2.0f);
}

TEST(DLPack, StridesWithoutALayoutAreCopied) {
  Foreign gaps({2, 3}, {8, 2});
  const Tensor copy = from_dlpack(&gaps.managed);
  EXPECT_EQ(gaps.deleted, 1);
  EXPECT_EQ(std::vector<float>(copy.as<float>().begin(), copy.as<float>().end()),
            (std::vector<float>{0, 2, 4, 8, 10, 12}));
  Foreign repeated({2, 3}, {0, 1});
  EXPECT_EQ(from_dlpack(&repeated.managed).as<float>()[3], 0.0f);
  Foreign backwards({3}, {-1});
  backwards.managed.dl_tensor.byte_offset = 8;
  EXPECT_EQ(from_dlpack(&backwards.managed).as<float>()[2], 0.0f);
}

TEST(DLPack, BadTensorsAreReleasedAndRefused) {
  const auto refuse = [](auto change, ErrorCode code, const char* text) {
    Foreign foreign({2, 3}, {});
    change(foreign.managed.dl_tensor);
    LANNER_EXPECT_ERROR(from_dlpack(&foreign.managed), code, text);
    EXPECT_EQ(foreign.deleted, 1);
  };
  refuse([](DLTensor& view) { view.dtype.lanes = 4; }, ErrorCode::unsupported, "4 lanes");
  refuse([](DLTensor& view) { view.dtype.code = 3; }, ErrorCode::unsupported, "type code 3");
  refuse([](DLTensor& view) { view.device.device_type = 4; }, ErrorCode::unsupported, "device type 4");
  refuse([](DLTensor& view) { view.ndim = -1; }, ErrorCode::limit_exceeded, "rank -1");
  refuse([](DLTensor& view) { view.ndim = 65; }, ErrorCode::limit_exceeded, "rank 65");
  refuse([](DLTensor& view) { view.shape[0] = -2; }, ErrorCode::invalid_argument, "negative");
  refuse([](DLTensor& view) { view.shape = nullptr; }, ErrorCode::invalid_argument, "without a shape");
  refuse([](DLTensor& view) { view.data = nullptr; }, ErrorCode::invalid_argument, "without memory");
  LANNER_EXPECT_ERROR(from_dlpack(static_cast<DLManagedTensor*>(nullptr)), ErrorCode::invalid_argument,
                      "no tensor");
}

TEST(DLPack, RefusesOtherVersions) {
  DLManagedTensorVersioned* managed = to_dlpack_versioned(Tensor::zeros(DType::f32, {2}));
  managed->version.major = 2;
  LANNER_EXPECT_ERROR(from_dlpack(managed), ErrorCode::unsupported, "version 2.0");
  managed = to_dlpack_versioned(Tensor::zeros(DType::i4, {2}));
  managed->flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  LANNER_EXPECT_ERROR(from_dlpack(managed), ErrorCode::unsupported, "4 bits");
}

} // namespace
} // namespace lanner
