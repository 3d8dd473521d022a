#pragma once
// Nodes of TensorFlow with TensorFlow's own answers, from tests/importers/tensorflow_samples/*.txt, which
// tests/python/tensorflow/test_operators.py writes: lines `case OPERATOR NAME`, then
//   types ATTRIBUTE TYPES          the types that TensorFlow's definition allows
//   fed|constant NAME KIND TENSOR  an input; KIND is the attribute that says its type, or that type
//   attribute NAME KIND VALUES     KIND as the fields of AttrValue
//   tolerance NUMBER               relative, where that of the type is too narrow
//   answer NAME TENSOR             TENSOR is `DT_FLOAT [2,3] 1 2 3 4 5 6`

#include <map>
#include <string>
#include <vector>

#include <lanner/tensor.h>

namespace lanner::test {

struct SampleTensor {
  std::string name, kind, type;
  bool fed = false;
  std::vector<std::int64_t> dims;
  std::vector<double> values;
};

struct SampleAttribute {
  std::string name, kind;
  std::vector<std::string> values;
};

struct TensorFlowSample {
  std::string op, name;
  std::map<std::string, std::vector<std::string>> types;
  std::vector<SampleTensor> inputs, answers;
  std::vector<SampleAttribute> attributes;
  double tolerance = 0;
};

std::vector<TensorFlowSample> tensorflow_samples();

/// The sample with another type, such as DT_HALF, in the place of attribute `name`'s.
TensorFlowSample with_type(TensorFlowSample sample, const std::string& name, const std::string& type);

std::string graph_def_of(const TensorFlowSample& sample);
std::vector<Tensor> fed_to(const TensorFlowSample& sample);

/// Of a name such as DT_FLOAT: TensorFlow's number, 0 where no tensor of ours holds the type.
std::int64_t number_of_type(const std::string& name);
Tensor tensor_of(const SampleTensor& sample);

} // namespace lanner::test
