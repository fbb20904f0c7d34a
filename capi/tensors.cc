#include <det/tensors.h>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/tensor_arguments.h"
#include "capi/transfer_options.h"
#include "core/tensors/reader.h"

struct det_tensors {
  explicit det_tensors(det::tensors::Reader opened);

  const det::tensors::Reader reader;
  // As the caller sees them.
  std::vector<std::vector<int64_t>> shapes;
  std::string metadata;
};

namespace {

using det::tensors::Dtype;
using det::tensors::Tensor;

det::tensors::FileMetadata metadata_from(const char *json) {
  det::tensors::FileMetadata metadata;
  if (json == nullptr) return metadata;
  const det::Json object = det::parse_json_object(json, "metadata_json");
  for (const auto &[key, value] : object.items()) {
    if (!value.is_string())
      throw det::Error(det::Code::invalid, "reading metadata_json: the value of " +
                                               det::tensors::quoted_name(key) +
                                               " is no text, and a file has nothing else");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// Bytes, by name.
std::vector<Tensor> state_from(const det_buffer *buffers, size_t count) {
  if (counted(count, "count") > 0 && buffers == nullptr)
    throw det::Error(det::Code::invalid, "buffers must not be NULL");
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < count; ++i)
    sizes.push_back(static_cast<int64_t>(counted(buffers[i].size, "the size of a buffer")));
  std::vector<det_tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    det_tensor tensor = DET_TENSOR_INIT;
    tensor.name = buffers[i].name;
    tensor.data = buffers[i].data;
    tensor.dtype = DET_DTYPE_U8;
    tensor.dimensions = 1;
    tensor.shape = &sizes[i];
    tensors.push_back(tensor);
  }
  return tensors_from(tensors.data(), count, own_shape);
}

const det::tensors::Reader::Entry *entry_at(const det_tensors *tensors, size_t index) noexcept {
  return tensors != nullptr && index < tensors->shapes.size() ? &tensors->reader.entries()[index]
                                                              : nullptr;
}

}  // namespace

det_tensors::det_tensors(det::tensors::Reader opened) : reader(std::move(opened)) {
  for (const auto &entry : reader.entries()) {
    shapes.emplace_back(entry.shape.begin(), entry.shape.end());
    // A tensor without dimensions has a shape as well, which is not NULL.
    shapes.back().reserve(1);
  }
  metadata = det::to_wire(det::Json(reader.metadata()));
}

const char *det_dtype_name(det_dtype dtype) noexcept {
  const std::optional<Dtype> known = det::tensors::dtype_numbered(dtype);
  return known ? det::tensors::name_of(*known) : nullptr;
}

det_dtype det_dtype_from_name(const char *name) noexcept {
  const std::optional<Dtype> known =
      name != nullptr ? det::tensors::dtype_named(name) : std::nullopt;
  return known ? static_cast<det_dtype>(*known) : 0;
}

int32_t det_dtype_bits(det_dtype dtype) noexcept {
  const std::optional<Dtype> known = det::tensors::dtype_numbered(dtype);
  return known ? static_cast<int32_t>(det::tensors::bits_of(*known)) : 0;
}

det_status det_tensors_write(det_checkpoint_writer *writer, const char *name,
                             const det_tensor *tensors, size_t count,
                             const det_tensors_write_options *options, det_error *err) noexcept {
  return guarded(err, [&] {
    const auto given =
        read_options<det_tensors_write_options>(options, DET_TENSORS_WRITE_OPTIONS_INIT, "options");
    Followed followed = follow(deref(writer, "writer"));
    writer->impl->write_tensors(text(name, "name"), tensors_from(tensors, count, own_shape),
                                metadata_from(given.metadata_json), followed.progress());
  });
}

det_status det_tensors_open(det_checkpoint_reader *reader, const char *name, det_tensors **out,
                            det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const std::filesystem::path &root = deref(reader, "reader").impl->path();
      return new det_tensors(
          det::tensors::Reader(det::storage::Tree(root), text(name, "name"), true));
    });
  });
}

det_status det_tensors_open_path(const char *path, det_tensors **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const std::filesystem::path file = text(path, "path");
      const std::filesystem::path root = file.has_parent_path() ? file.parent_path() : ".";
      return new det_tensors(
          det::tensors::Reader(det::storage::Tree(root), file.filename().string(), false));
    });
  });
}

size_t det_tensors_count(const det_tensors *tensors) noexcept {
  return tensors != nullptr ? tensors->shapes.size() : 0;
}

int64_t det_tensors_find(const det_tensors *tensors, const char *name) noexcept {
  if (tensors == nullptr || name == nullptr) return -1;
  return or_else(int64_t{-1}, [&]() -> int64_t {
    const auto *found = tensors->reader.find(name);
    return found != nullptr ? found - tensors->reader.entries().data() : -1;
  });
}

const char *det_tensors_name(const det_tensors *tensors, size_t index) noexcept {
  const auto *entry = entry_at(tensors, index);
  return entry != nullptr ? entry->name.c_str() : nullptr;
}

det_dtype det_tensors_dtype(const det_tensors *tensors, size_t index) noexcept {
  const auto *entry = entry_at(tensors, index);
  return entry != nullptr ? static_cast<det_dtype>(entry->dtype) : 0;
}

size_t det_tensors_dimensions(const det_tensors *tensors, size_t index) noexcept {
  const auto *entry = entry_at(tensors, index);
  return entry != nullptr ? entry->shape.size() : 0;
}

const int64_t *det_tensors_shape(const det_tensors *tensors, size_t index) noexcept {
  return entry_at(tensors, index) != nullptr ? tensors->shapes[index].data() : nullptr;
}

int64_t det_tensors_size(const det_tensors *tensors, size_t index) noexcept {
  const auto *entry = entry_at(tensors, index);
  if (entry == nullptr) return 0;
  return static_cast<int64_t>(det::tensors::bytes_of(entry->dtype, entry->shape).value_or(0));
}

const char *det_tensors_metadata(const det_tensors *tensors) noexcept {
  return tensors != nullptr ? tensors->metadata.c_str() : nullptr;
}

det_status det_tensors_read(const det_tensors *tensors, const det_tensor *wanted, size_t count,
                            const det_tensors_read_options *options, det_error *err) noexcept {
  return guarded(err, [&] {
    const auto given =
        read_options<det_tensors_read_options>(options, DET_TENSORS_READ_OPTIONS_INIT, "options");
    Followed followed = follow(given);
    const det::tensors::Reader &reader = deref(tensors, "tensors").reader;
    // A part may be asked for by who does not know the rest of its tensor.
    reader.read(tensors_from(wanted, count,
                             [&](const Tensor &tensor, bool is_part) {
                               const auto *entry = is_part ? reader.find(tensor.name) : nullptr;
                               return entry != nullptr ? entry->shape : tensor.region.shape;
                             }),
                followed.progress());
  });
}

void det_tensors_free(det_tensors *tensors) noexcept { delete tensors; }

det_status det_state_save(det_checkpoint_context *checkpoint, int64_t steps_completed,
                          const det_buffer *buffers, size_t count, char **out_storage_id,
                          det_error *err) noexcept {
  return guarded(err, [&] {
    char *unwanted = nullptr;
    char *&id = out_storage_id != nullptr ? *out_storage_id : unwanted;
    id = nullptr;
    RoomForId room;
    char *const saved = room.take(deref(checkpoint, "checkpoint")
                                      .core->checkpoint()
                                      .save_state(steps_completed, state_from(buffers, count)));
    if (out_storage_id != nullptr) id = saved;
    else det_free(saved);
  });
}

det_status det_state_load(det_checkpoint_context *checkpoint, const char *storage_id,
                          const det_buffer *buffers, size_t count, int64_t *out_steps_completed,
                          det_error *err) noexcept {
  return guarded(err, [&] {
    if (out_steps_completed != nullptr) *out_steps_completed = 0;
    const int64_t steps =
        deref(checkpoint, "checkpoint")
            .core->checkpoint()
            .load_state(
                storage_id != nullptr ? std::optional<std::string>(storage_id) : std::nullopt,
                state_from(buffers, count));
    if (out_steps_completed != nullptr) *out_steps_completed = steps;
  });
}
