#include "wrappers/nn/files/onnx_graph.h"

#include "core/base/error.h"

namespace det::nn {

namespace {

// Numbers of fields and of types, from onnx.proto.
constexpr int64_t onnx_float = 1, onnx_int32 = 6, onnx_int64 = 7;
constexpr int64_t ir_version = 7;
constexpr int64_t operator_set = 13;  // every runtime of today has it

int64_t onnx_type(Dtype dtype) { return dtype == Dtype::i32 ? onnx_int32 : onnx_float; }

ProtobufWriter described_value(const std::string &name, const ArrayType &type) {
  ProtobufWriter shape;
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    const int64_t size = type.shape[axis];
    ProtobufWriter dimension;
    if (size != unknown) dimension.integer(1, size);
    else dimension.bytes(2, axis == 0 ? "batch" : name + "_" + std::to_string(axis));
    shape.message(1, dimension);
  }
  ProtobufWriter tensor, any, value;
  tensor.integer(1, onnx_type(type.dtype));
  tensor.message(2, shape);
  any.message(1, tensor);
  value.bytes(1, name);
  value.message(2, any);
  return value;
}

// The number of the field that has it, and that of its kind.
void write_value(ProtobufWriter &written, float value) {
  written.floating(2, value);
  written.integer(20, 1);
}
void write_value(ProtobufWriter &written, int64_t value) {
  written.integer(3, value);
  written.integer(20, 2);
}
void write_value(ProtobufWriter &written, const std::string &value) {
  written.bytes(4, value);
  written.integer(20, 3);
}
void write_value(ProtobufWriter &written, const std::vector<int64_t> &values) {
  for (const int64_t value : values) written.integer(8, value);
  written.integer(20, 7);
}
void write_value(ProtobufWriter &written, const std::vector<std::string> &values) {
  for (const std::string &value : values) written.bytes(9, value);
  written.integer(20, 8);
}

ProtobufWriter described_attribute(const OnnxAttribute &attribute) {
  ProtobufWriter written;
  written.bytes(1, attribute.name);
  std::visit([&](const auto &value) { write_value(written, value); }, attribute.value);
  return written;
}

template <class Number>
std::string_view bytes_of_numbers(const Number *first, size_t count) {
  return {reinterpret_cast<const char *>(first), count * sizeof(Number)};
}

}  // namespace

std::string OnnxGraph::name_like(const std::string &wanted) {
  std::string name = wanted;
  for (size_t i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

void OnnxGraph::add_input(const std::string &name, const ArrayType &type) {
  graph_.message(11, described_value(name, type));
}

void OnnxGraph::add_output(const std::string &name, const ArrayType &type) {
  graph_.message(12, described_value(name, type));
}

void OnnxGraph::add_tensor(const std::string &name, int64_t type, const std::vector<int64_t> &sizes,
                           std::string_view bytes) {
  // A message has fewer bytes, and all readers stop there.
  constexpr size_t most = (size_t{1} << 31U) - (size_t{1} << 20U);
  if (graph_.text().size() + bytes.size() > most)
    throw Error(Code::unsupported,
                "writing ONNX: the weights have more than 2 GB, which such a file cannot hold");
  ProtobufWriter tensor;
  for (const int64_t size : sizes) tensor.integer(1, size);
  tensor.integer(2, type);
  tensor.bytes(8, name);
  tensor.bytes(9, bytes);
  graph_.message(5, tensor);
}

void OnnxGraph::add_weight(const std::string &name, const Array &values) {
  add_tensor(name, onnx_type(values.dtype()), values.shape(),
             {static_cast<const char *>(values.raw()), values.bytes()});
}

std::string OnnxGraph::constant(float value) {
  const std::string name = name_like("constant");
  add_tensor(name, onnx_float, {}, bytes_of_numbers(&value, 1));
  return name;
}

std::string OnnxGraph::constant(const std::vector<int64_t> &values) {
  const std::string name = name_like("constant");
  add_tensor(name, onnx_int64, {static_cast<int64_t>(values.size())},
             bytes_of_numbers(values.data(), values.size()));
  return name;
}

std::string OnnxGraph::constant(const Array &values) {
  std::string name = name_like("constant");
  add_weight(name, values);
  return name;
}

std::string OnnxGraph::add(const char *operation, const std::vector<std::string> &inputs,
                           const std::vector<OnnxAttribute> &attributes) {
  return add_several(1, operation, inputs, attributes)[0];
}

std::vector<std::string> OnnxGraph::add_several(size_t results, const char *operation,
                                                const std::vector<std::string> &inputs,
                                                const std::vector<OnnxAttribute> &attributes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < results; ++i) names.push_back(name_like("value"));
  add_as(names, operation, inputs, attributes);
  return names;
}

void OnnxGraph::add_as(const std::vector<std::string> &results, const char *operation,
                       const std::vector<std::string> &inputs,
                       const std::vector<OnnxAttribute> &attributes) {
  ProtobufWriter node;
  for (const std::string &input : inputs) node.bytes(1, input);
  for (const std::string &result : results) node.bytes(2, result);
  node.bytes(4, operation);
  for (const OnnxAttribute &attribute : attributes) node.message(5, described_attribute(attribute));
  graph_.message(1, node);
}

std::string OnnxGraph::finish(const std::string &name) {
  graph_.bytes(2, name);
  ProtobufWriter operators, model;
  operators.bytes(1, "");
  operators.integer(2, operator_set);
  model.integer(1, ir_version);
  model.bytes(2, "detcore");
  model.message(8, operators);
  model.message(7, graph_);
  return model.text();
}

}  // namespace det::nn
