// Saves tensors from memory as safetensors files in checkpoints, and reads them back.
#pragma once

#include <det/tensors.h>
#include <det/checkpoint.hpp>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace det {
inline namespace v1 {

enum class Dtype : det_dtype {
  boolean = DET_DTYPE_BOOL,
  f4 = DET_DTYPE_F4,
  f6_e2m3 = DET_DTYPE_F6_E2M3,
  f6_e3m2 = DET_DTYPE_F6_E3M2,
  u8 = DET_DTYPE_U8,
  i8 = DET_DTYPE_I8,
  f8_e5m2 = DET_DTYPE_F8_E5M2,
  f8_e4m3 = DET_DTYPE_F8_E4M3,
  f8_e8m0 = DET_DTYPE_F8_E8M0,
  f8_e4m3fnuz = DET_DTYPE_F8_E4M3FNUZ,
  f8_e5m2fnuz = DET_DTYPE_F8_E5M2FNUZ,
  i16 = DET_DTYPE_I16,
  u16 = DET_DTYPE_U16,
  f16 = DET_DTYPE_F16,
  bf16 = DET_DTYPE_BF16,
  i32 = DET_DTYPE_I32,
  u32 = DET_DTYPE_U32,
  f32 = DET_DTYPE_F32,
  c64 = DET_DTYPE_C64,
  f64 = DET_DTYPE_F64,
  i64 = DET_DTYPE_I64,
  u64 = DET_DTYPE_U64,
};

// Such as "BF16". Null for an unknown number.
[[nodiscard]] inline const char *dtype_name(Dtype dtype) noexcept {
  return det_dtype_name(static_cast<det_dtype>(dtype));
}
// 0 for an unknown name.
[[nodiscard]] inline Dtype dtype_from_name(Text name) noexcept {
  return static_cast<Dtype>(det_dtype_from_name(name.c_str()));
}
// The bits of one element.
[[nodiscard]] inline int32_t dtype_bits(Dtype dtype) noexcept {
  return det_dtype_bits(static_cast<det_dtype>(dtype));
}

enum class Device : det_device {
  detect = DET_DEVICE_DETECT,
  host = DET_DEVICE_HOST,
  cuda = DET_DEVICE_CUDA,
};

// A tensor in memory of the caller, or a part of one.
struct Tensor {
  std::string name;
  Dtype dtype;
  std::vector<int64_t> shape;  // Of the data. None: one element.
  void *data;                  // Row-major, without gaps. Only a read writes it.
  // Empty, or one number for each axis of the shape.
  // The place of the data in the tensor. Empty: its beginning.
  std::vector<int64_t> offset = {};
  std::vector<int64_t> global_shape = {};  // Of the tensor. Empty: as in det_tensor.
  Device device = Device::detect;

  [[nodiscard]] size_t elements() const noexcept {
    size_t count = 1;
    for (const int64_t size : shape) count *= static_cast<size_t>(size);
    return count;
  }
  [[nodiscard]] det_tensor capi() const noexcept {
    det_tensor tensor = DET_TENSOR_INIT;
    tensor.name = name.c_str();
    tensor.data = data;
    tensor.dtype = static_cast<det_dtype>(dtype);
    tensor.device = static_cast<det_device>(device);
    tensor.dimensions = shape.size();
    // With another length, the library would read beyond the arrays. Without a shape it rejects
    // them.
    const bool fits = (offset.empty() || offset.size() == shape.size()) &&
                      (global_shape.empty() || global_shape.size() == shape.size());
    if (fits) tensor.shape = shape.data();
    if (fits && !offset.empty()) tensor.offset = offset.data();
    if (fits && !global_shape.empty()) tensor.global_shape = global_shape.data();
    return tensor;
  }
};

namespace detail {

inline std::vector<det_tensor> to_c(const std::vector<Tensor> &tensors) {
  std::vector<det_tensor> c_tensors;
  c_tensors.reserve(tensors.size());
  for (const Tensor &tensor : tensors) c_tensors.push_back(tensor.capi());
  return c_tensors;
}

}  // namespace detail

// Writes into a checkpoint. If it is one of all ranks, all call in step. `metadata` is an object of
// texts.
inline void write_tensors(const CheckpointWriter &store, Text name,
                          const std::vector<Tensor> &tensors, const Json &metadata = {},
                          OnFailure on = {}) {
  const std::vector<det_tensor> c_tensors = detail::to_c(tensors);
  det_tensors_write_options options = DET_TENSORS_WRITE_OPTIONS_INIT;
  options.metadata_json = metadata.capi();
  detail::call(on, det_tensors_write, store.capi(), name.c_str(), c_tensors.data(),
               c_tensors.size(), &options);
}

// Memory of the program that belongs to its state.
struct Buffer {
  std::string name;
  void *data;
  size_t size;  // bytes

  // For a value, or for the elements of a container.
  template <class Value>
  static Buffer of(std::string name, Value &value) noexcept {
    static_assert(std::is_trivially_copyable_v<Value>, "give the elements: Buffer::of_elements()");
    return {std::move(name), &value, sizeof value};
  }
  template <class Container>
  static Buffer of_elements(std::string name, Container &elements) noexcept {
    static_assert(std::is_trivially_copyable_v<typename Container::value_type>,
                  "only bytes can be saved");
    return {std::move(name), elements.data(),
            elements.size() * sizeof(typename Container::value_type)};
  }

  [[nodiscard]] det_buffer capi() const noexcept { return {name.c_str(), data, size}; }
};

namespace detail {

inline std::vector<det_buffer> to_c(const std::vector<Buffer> &buffers) {
  std::vector<det_buffer> c_buffers;
  c_buffers.reserve(buffers.size());
  for (const Buffer &buffer : buffers) c_buffers.push_back(buffer.capi());
  return c_buffers;
}

}  // namespace detail

// Saves the state of a program as a checkpoint in one call, and returns the id. All ranks in step.
inline std::string save_state(const Checkpoint &checkpoint, int64_t steps_completed,
                              const std::vector<Buffer> &buffers, OnFailure on = {}) {
  const std::vector<det_buffer> c_buffers = detail::to_c(buffers);
  char *id = nullptr;
  detail::call(on, det_state_save, checkpoint.capi(), steps_completed, c_buffers.data(),
               c_buffers.size(), &id);
  return detail::taken(id);
}

// Fills the buffers, and returns the steps. Without an id it reads the checkpoint that this run
// begins with. If there is no such checkpoint, it fills nothing and returns 0. All ranks in step.
inline int64_t load_state(const Checkpoint &checkpoint, const std::vector<Buffer> &buffers,
                          Text storage_id = {}, OnFailure on = {}) {
  const std::vector<det_buffer> c_buffers = detail::to_c(buffers);
  int64_t steps = 0;
  detail::call(on, det_state_load, checkpoint.capi(), storage_id.c_str(), c_buffers.data(),
               c_buffers.size(), &steps);
  return steps;
}

// Tensors in a file, or in those of several ranks, in the order of their names.
class Tensors {
 public:
  Tensors() noexcept = default;
  explicit Tensors(det_tensors *owned) noexcept : tensors_(owned) {}

  // Opens tensors of a checkpoint. If that is a temporary copy, keep the reader.
  Tensors(const CheckpointReader &restore, Text name, OnFailure on = {}) {
    det_tensors *opened = nullptr;
    detail::call(on, det_tensors_open, restore.capi(), name.c_str(), &opened);
    tensors_.reset(opened);
  }
  explicit Tensors(const std::filesystem::path &path, OnFailure on = {}) {
    det_tensors *opened = nullptr;
    detail::call(on, det_tensors_open_path, path.c_str(), &opened);
    tensors_.reset(opened);
  }

  [[nodiscard]] size_t size() const noexcept { return det_tensors_count(tensors_.get()); }
  [[nodiscard]] bool contains(Text name) const noexcept { return find(name) >= 0; }
  // -1 for an unknown name.
  [[nodiscard]] int64_t find(Text name) const noexcept {
    return det_tensors_find(tensors_.get(), name.c_str());
  }

  [[nodiscard]] std::string name(size_t index) const {
    const char *name = det_tensors_name(tensors_.get(), index);
    return name != nullptr ? name : "";
  }
  [[nodiscard]] Dtype dtype(size_t index) const noexcept {
    return static_cast<Dtype>(det_tensors_dtype(tensors_.get(), index));
  }
  [[nodiscard]] std::vector<int64_t> shape(size_t index) const {
    const int64_t *shape = det_tensors_shape(tensors_.get(), index);
    return {shape, shape + det_tensors_dimensions(tensors_.get(), index)};
  }
  [[nodiscard]] int64_t bytes(size_t index) const noexcept {
    return det_tensors_size(tensors_.get(), index);
  }
  // The texts that the file has beside the tensors, as an object.
  [[nodiscard]] Json metadata() const {
    const char *metadata = det_tensors_metadata(tensors_.get());
    return metadata != nullptr ? Json(metadata) : Json();
  }

  // Fills the memory of the wanted tensors.
  void read(const std::vector<Tensor> &wanted, const ProgressCallback &progress = {},
            OnFailure on = {}) const {
    const std::vector<det_tensor> c_wanted = detail::to_c(wanted);
    detail::CheckpointCallbacks callbacks{{}, progress};
    det_tensors_read_options options = DET_TENSORS_READ_OPTIONS_INIT;
    detail::set_progress(options, callbacks);
    detail::call(on, det_tensors_read, tensors_.get(), c_wanted.data(), c_wanted.size(), &options);
  }

  [[nodiscard]] det_tensors *capi() const noexcept { return tensors_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return tensors_ != nullptr; }

 private:
  detail::Handle<det_tensors, det_tensors_free> tensors_;
};

}  // namespace v1
}  // namespace det
