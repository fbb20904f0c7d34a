// A descriptor of cuDNN's backend API: attributes by name, until it is finalized.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace emulated {

// Why cuDNN refuses a call: its status, and what cudnnGetLastErrorString() says.
struct Refused : std::runtime_error {
  cudnnStatus_t status;
  Refused(cudnnStatus_t why, const std::string &text) : std::runtime_error(text), status(why) {}
};

// Calls what may be refused, under the lock.
cudnnStatus_t guarded(const std::function<void()> &call);

struct Attribute {
  cudnnBackendAttributeType_t type;
  int64_t count;
  std::vector<std::byte> bytes;
};

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) : type(type) {}

  const cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<int, Attribute> attributes;

  bool has(int name) const { return attributes.contains(name); }

  template <class T>
  std::vector<T> list(int name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> values(static_cast<size_t>(found->second.count));
    std::memcpy(values.data(), found->second.bytes.data(), found->second.bytes.size());
    return values;
  }
  template <class T>
  T value(int name, T without = {}) const {
    const auto found = attributes.find(name);
    if (found != attributes.end()) std::memcpy(&without, found->second.bytes.data(), sizeof(T));
    return without;
  }
  // FLOAT or DOUBLE, as it was set.
  double number(int name, double without) const;
  // Of BACKEND_DESCRIPTOR, which must be there still, finalized and of this type.
  const Descriptor &child(int name, cudnnBackendDescriptorType_t type) const;

  void set(int name, cudnnBackendAttributeType_t type, int64_t count, const void *values);
  template <class T>
  void set(int name, cudnnBackendAttributeType_t type, const std::vector<T> &values) {
    set(name, type, static_cast<int64_t>(values.size()), values.data());
  }
};

// The descriptor behind a handle. Refused if it was destroyed, or never made.
Descriptor &descriptor_at(cudnnBackendDescriptor_t handle);
const Descriptor &finalized_at(cudnnBackendDescriptor_t handle);

// What a kind of descriptor may have.
enum class Need { required, optional, computed };
struct Rule {
  cudnnBackendDescriptorType_t descriptor;
  int name;
  cudnnBackendAttributeType_t type;  // FLOAT: or DOUBLE
  bool many;
  Need need;
};
// Refused where there is no such attribute, or one of another type.
const Rule &rule_of(const Descriptor &descriptor, int name, cudnnBackendAttributeType_t type);
void check_required(const Descriptor &descriptor);

size_t size_of(cudnnBackendAttributeType_t type);

// Checks what a descriptor has, and computes what it then says. Refused where cuDNN refuses.
void finalize(Descriptor &descriptor);

}  // namespace emulated
