#include "tests/nn/emulated_cuda/emulated_descriptor.h"

#include <algorithm>
#include <memory>

#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_engine.h"

namespace emulated {

namespace {

// Those that are there, by their handles.
auto &descriptors = *new std::map<void *, std::unique_ptr<Descriptor>>;

// What a descriptor has of an attribute; not the descriptors that it fills for the caller.
int64_t copy_out(const Descriptor &descriptor, int name, cudnnBackendAttributeType_t type,
                 int64_t room, void *values) {
  const auto found = descriptor.attributes.find(name);
  if (found == descriptor.attributes.end())
    throw Refused(CUDNN_STATUS_NOT_SUPPORTED, "attribute " + std::to_string(name) + " is not set");
  const Attribute &attribute = found->second;
  if (attribute.type != type)
    throw Refused(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "it was set as another type");
  if (values != nullptr)
    std::copy_n(attribute.bytes.begin(),
                static_cast<size_t>(std::min(room, attribute.count)) * size_of(type),
                static_cast<std::byte *>(values));
  return attribute.count;
}

}  // namespace

double Descriptor::number(int name, double without) const {
  if (!has(name)) return without;
  return attributes.at(name).type == CUDNN_TYPE_DOUBLE ? value<double>(name) : value<float>(name);
}

const Descriptor &Descriptor::child(int name, cudnnBackendDescriptorType_t wanted) const {
  const Descriptor &found = finalized_at(value<cudnnBackendDescriptor_t>(name));
  if (found.type != wanted)
    throw Refused(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                  "attribute " + std::to_string(name) + " is a descriptor of another type");
  return found;
}

void Descriptor::set(int name, cudnnBackendAttributeType_t as, int64_t count, const void *values) {
  const auto *const bytes = static_cast<const std::byte *>(values);
  attributes[name] = {as, count, {bytes, bytes + static_cast<size_t>(count) * size_of(as)}};
}

Descriptor &descriptor_at(cudnnBackendDescriptor_t handle) {
  const auto found = descriptors.find(handle);
  if (found == descriptors.end())
    throw Refused(CUDNN_STATUS_BAD_PARAM, "a descriptor was destroyed, or is none");
  return *found->second;
}

const Descriptor &finalized_at(cudnnBackendDescriptor_t handle) {
  const Descriptor &descriptor = descriptor_at(handle);
  if (!descriptor.finalized)
    throw Refused(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor is not finalized");
  return descriptor;
}

}  // namespace emulated

using namespace emulated;

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *handle) {
  return guarded([&] {
    auto made = std::make_unique<Descriptor>(type);
    *handle = made.get();
    descriptors[*handle] = std::move(made);
  });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  return guarded([&] {
    descriptor_at(handle);
    descriptors.erase(handle);
  });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values) {
  return guarded([&] {
    Descriptor &descriptor = descriptor_at(handle);
    if (descriptor.finalized)
      throw Refused(CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is finalized");
    const Rule &rule = rule_of(descriptor, name, type);
    if (rule.need == Need::computed)
      throw Refused(CUDNN_STATUS_NOT_SUPPORTED, "the attribute is read only");
    if (values == nullptr || count < 1 || (!rule.many && count != 1))
      throw Refused(CUDNN_STATUS_BAD_PARAM, "so many values are not possible");
    descriptor.set(name, type, count, values);
  });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  return guarded([&] {
    Descriptor &descriptor = descriptor_at(handle);
    if (descriptor.finalized) throw Refused(CUDNN_STATUS_BAD_PARAM, "it is finalized already");
    finalize(descriptor);
    descriptor.finalized = true;
  });
}

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room,
                                       int64_t *count, void *values) {
  return guarded([&] {
    const Descriptor &descriptor = descriptor_at(handle);
    if (!descriptor.finalized)
      throw Refused(CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is not finalized");
    rule_of(descriptor, name, type);
    const bool fills = name == CUDNN_ATTR_ENGINEHEUR_RESULTS || name == CUDNN_ATTR_ENGINECFG_ENGINE;
    const int64_t all =
        fills ? fill_engines(descriptor, room, static_cast<cudnnBackendDescriptor_t *>(values))
              : copy_out(descriptor, name, type, room, values);
    if (count != nullptr) *count = all;
  });
}
