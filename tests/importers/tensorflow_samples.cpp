#include "importers/tensorflow_samples.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "importers/graph_def_file.h"
#include "importers/tensorflow/tensor_record.h"
#include "source_dir.h"

namespace lanner::test {
namespace {

using graph_def_file::Message;

std::vector<std::string> words(std::istringstream& line) {
  std::vector<std::string> found;
  for (std::string word; line >> word;) found.push_back(word);
  return found;
}

/// `DT_FLOAT [2,3] 1 2 3`
void read_tensor(std::istringstream& line, SampleTensor& tensor) {
  std::string sizes, word;
  line >> tensor.type >> sizes;
  std::istringstream list(sizes.substr(1, sizes.size() - 2));
  while (std::getline(list, word, ',')) tensor.dims.push_back(std::stoll(word));
  for (const std::string& number : words(line)) tensor.values.push_back(std::stod(number));
}

void read_line(const std::string& text, TensorFlowSample& sample) {
  std::istringstream line(text);
  std::string what, name;
  line >> what >> name;
  if (what == "types") {
    sample.types[name] = words(line);
  } else if (what == "attribute") {
    SampleAttribute& made = sample.attributes.emplace_back();
    made.name = name;
    line >> made.kind;
    made.values = words(line);
  } else if (what == "tolerance") {
    sample.tolerance = std::stod(name);
  } else {
    SampleTensor made;
    made.name = name;
    made.fed = what == "fed";
    if (what != "answer") line >> made.kind;
    read_tensor(line, made);
    (what == "answer" ? sample.answers : sample.inputs).push_back(std::move(made));
  }
}

std::vector<std::int64_t> numbers(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> found;
  for (const std::string& text : texts) found.push_back(std::stoll(text));
  return found;
}

Message attribute_of(const SampleAttribute& given) {
  using namespace graph_def_file;
  const std::string first = given.values.empty() ? "" : given.values[0];
  if (given.kind == "s") return text(given.name, first);
  if (given.kind == "i") return integer(given.name, std::stoll(first));
  if (given.kind == "f") return real(given.name, std::stof(first));
  if (given.kind == "b") return flag(given.name, first == "1");
  if (given.kind == "type") return type(given.name, number_of_type(first));
  Message list;
  for (const std::string& one : given.values) {
    if (given.kind == "list.s") list.bytes(2, one);
    if (given.kind == "list.f") list.real(4, std::stof(one));
    if (given.kind == "list.type") list.integer(6, number_of_type(one));
  }
  if (given.kind == "list.i") list.packed(3, numbers(given.values));
  if (given.kind == "list.b") list.packed(5, numbers(given.values));
  return attribute(given.name, Message().message(1, list));
}

} // namespace

std::vector<TensorFlowSample> tensorflow_samples() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_dir() / "tests" / "importers" / "tensorflow_samples"))
    files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<TensorFlowSample> samples;
  for (const auto& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == '#') continue;
      if (line.starts_with("case ")) {
        std::istringstream head(line.substr(5));
        TensorFlowSample& made = samples.emplace_back();
        head >> made.op;
        std::getline(head >> std::ws, made.name);
      } else {
        read_line(line, samples.back());
      }
    }
  }
  return samples;
}

TensorFlowSample with_type(TensorFlowSample sample, const std::string& name, const std::string& type) {
  // BatchMatMulV3 has a type for each operand and for the result, a fused operator those of what it adds.
  const auto changes = [&](const std::string& one) {
    return one == name || (name == "Ta" && (one == "Tb" || one == "Tout")) || (name == "T" && one == "TArgs");
  };
  for (SampleTensor& input : sample.inputs)
    if (changes(input.kind)) input.type = type;
  for (SampleAttribute& attribute : sample.attributes)
    if (changes(attribute.name)) attribute.values.assign(attribute.values.size(), type);
  return sample;
}

std::int64_t number_of_type(const std::string& name) {
  static const std::map<std::string, std::int64_t> table{
      {"DT_FLOAT", 1}, {"DT_DOUBLE", 2},  {"DT_INT32", 3},  {"DT_UINT8", 4},     {"DT_INT16", 5},
      {"DT_INT8", 6},  {"DT_INT64", 9},   {"DT_BOOL", 10},  {"DT_BFLOAT16", 14}, {"DT_UINT16", 17},
      {"DT_HALF", 19}, {"DT_UINT32", 22}, {"DT_UINT64", 23}};
  const auto found = table.find(name);
  return found == table.end() ? 0 : found->second;
}

Tensor tensor_of(const SampleTensor& sample) {
  const Shape shape(std::vector<std::int64_t>(sample.dims));
  const Tensor wide = Tensor::from<double>(sample.values, shape);
  Tensor made = Tensor::allocate(tensorflow::dtype_of_tensorflow(number_of_type(sample.type)), shape);
  copy_tensor(wide, made);
  return made;
}

std::string graph_def_of(const TensorFlowSample& sample) {
  using namespace graph_def_file;
  std::vector<Message> nodes, attributes;
  std::vector<std::string> names;
  for (const SampleTensor& input : sample.inputs) {
    names.push_back(input.name);
    const std::int64_t number = number_of_type(input.type);
    if (input.fed) {
      nodes.push_back(placeholder(input.name, number, input.dims));
      continue;
    }
    const Tensor value = tensor_of(input);
    const std::string_view bytes(static_cast<const char*>(value.data()),
                                 static_cast<std::size_t>(value.elements()) * bit_width(value.dtype()) / 8);
    nodes.push_back(constant(input.name, tensor(number, input.dims).bytes(4, bytes)));
  }
  for (const SampleAttribute& attribute : sample.attributes) attributes.push_back(attribute_of(attribute));
  nodes.push_back(node({"y", sample.op, names, attributes}));
  return graph_def(nodes);
}

std::vector<Tensor> fed_to(const TensorFlowSample& sample) {
  std::vector<Tensor> values;
  for (const SampleTensor& input : sample.inputs)
    if (input.fed) values.push_back(tensor_of(input));
  return values;
}

} // namespace lanner::test
