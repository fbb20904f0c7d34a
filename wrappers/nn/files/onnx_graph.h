// The graph of an ONNX file while it is written: values have names, nodes give new ones.
#pragma once

#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "wrappers/nn/array.h"
#include "wrappers/nn/files/protobuf_writer.h"

namespace det::nn {

struct OnnxAttribute {
  const char *name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<std::string>> value;
};

class OnnxGraph {
 public:
  // `wanted`, or what is like it and not taken yet.
  std::string name_like(const std::string &wanted);

  // What comes in or goes out; of `shape`, `unknown` is a size that is left open, the first one
  // that of the batch.
  void add_input(const std::string &name, const ArrayType &type);
  void add_output(const std::string &name, const ArrayType &type);
  // Numbers that are always the same.
  void add_weight(const std::string &name, const Array &values);
  std::string constant(float value);
  std::string constant(const std::vector<int64_t> &values);
  std::string constant(const Array &values);

  // The name of what the node gives.
  std::string add(const char *operation, const std::vector<std::string> &inputs,
                  const std::vector<OnnxAttribute> &attributes = {});
  // Of a node that gives several; "" among `inputs` is one that is left out.
  std::vector<std::string> add_several(size_t results, const char *operation,
                                       const std::vector<std::string> &inputs,
                                       const std::vector<OnnxAttribute> &attributes);
  void add_as(const std::vector<std::string> &results, const char *operation,
              const std::vector<std::string> &inputs,
              const std::vector<OnnxAttribute> &attributes = {});

  // The whole file.
  std::string finish(const std::string &name);

 private:
  void add_tensor(const std::string &name, int64_t type, const std::vector<int64_t> &sizes,
                  std::string_view bytes);

  ProtobufWriter graph_;
  std::unordered_set<std::string> taken_;
};

}  // namespace det::nn
