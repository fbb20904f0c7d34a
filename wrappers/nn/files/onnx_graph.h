// The graph of an ONNX file while it is written: values have names, nodes give new ones.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "wrappers/nn/arrays/array.h"

namespace det::nn {

// Messages in the wire format of Protocol Buffers: a number of a field and of its kind, then its
// value.
class ProtobufWriter {
 public:
  void integer(uint32_t field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
  }
  void floating(uint32_t field, float value) {
    key(field, 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) text_ += static_cast<char>(bits >> shift);
  }
  void bytes(uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    text_ += value;
  }
  void message(uint32_t field, const ProtobufWriter &value) { bytes(field, value.text_); }

  const std::string &text() const { return text_; }

 private:
  void key(uint32_t field, uint32_t kind) { varint(field << 3U | kind); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_ += static_cast<char>(value | 0x80U);
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

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
