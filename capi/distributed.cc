#include <det/distributed.h>

#include <array>

#include "capi/guard.h"
#include "capi/handles.h"
#include "core/comm/launch.h"

namespace {

det_distributed *handle_for(const det::Launch &launch) {
  auto handle = std::make_unique<det_distributed>();
  handle->owned = det::join(launch);
  handle->impl = handle->owned.get();
  return handle.release();
}

det::Launch launch_from(const det_distributed_options &options) {
  const std::array numbers{options.rank,       options.size,       options.local_rank,
                           options.local_size, options.cross_rank, options.cross_size};
  const auto unset = std::count(numbers.begin(), numbers.end(), -1);
  if (unset == static_cast<long>(numbers.size())) return {};
  if (unset > 0)
    throw det::Error(det::Code::invalid,
                     "joining a job: set all of rank, size, local_rank, local_size, cross_rank and "
                     "cross_size, or none");
  return {{options.rank, options.size, options.local_rank, options.local_size, options.cross_rank,
           options.cross_size},
          text_or_empty(options.chief_ip)};
}

det::Message message_from(const void *data, size_t size) {
  if (data != nullptr) return std::string(static_cast<const char *>(data), size);
  if (size != 0)
    throw det::Error(det::Code::invalid, "data must not be NULL with size " + std::to_string(size));
  return std::nullopt;
}

det_messages *wrap(std::vector<det::Message> list) { return new det_messages{std::move(list)}; }
det_messages *wrap(std::optional<std::vector<det::Message>> list) {
  return list ? wrap(std::move(*list)) : nullptr;
}
det_messages *wrap(det::Message message) { return wrap(std::vector{std::move(message)}); }

// One collective: all six differ in the member function only.
template <class Result>
det_status collective(det_distributed *distributed, const void *data, size_t size,
                      det_messages **out, det_error *err,
                      Result (det::Communicator::*call)(const det::Message &)) noexcept {
  return guarded(err, [&] {
    det_messages *&messages = cleared(out, "out");
    det::Communicator &communicator = *deref(distributed, "distributed").impl;
    messages = wrap((communicator.*call)(message_from(data, size)));
  });
}

const det::Ranks &ranks_of(const det_distributed *distributed) {
  static constexpr det::Ranks one_process;
  return distributed != nullptr ? distributed->impl->ranks() : one_process;
}

}  // namespace

void det_distributed_options_init(det_distributed_options *options) noexcept {
  if (options != nullptr) *options = DET_DISTRIBUTED_OPTIONS_INIT;
}

det_status det_distributed_create(const det_distributed_options *options, det_distributed **out,
                                  det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      return handle_for(launch_from(
          read_options<det_distributed_options>(options, DET_DISTRIBUTED_OPTIONS_INIT, "options")));
    });
  });
}

det_status det_distributed_from_horovod(const char *chief_ip, det_distributed **out,
                                        det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] { return handle_for(det::launch_from_horovod(text_or_empty(chief_ip))); });
  });
}

det_status det_distributed_from_deepspeed(const char *chief_ip, det_distributed **out,
                                          det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out",
         [&] { return handle_for(det::launch_from_deepspeed(text_or_empty(chief_ip))); });
  });
}

det_status det_distributed_from_torch(const char *chief_ip, det_distributed **out,
                                      det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] { return handle_for(det::launch_from_torch(text_or_empty(chief_ip))); });
  });
}

det_status det_distributed_from_tf_config(det_distributed **out, det_error *err) noexcept {
  return guarded(
      err, [&] { give(out, "out", [&] { return handle_for(det::launch_from_tf_config()); }); });
}

det_status det_distributed_from_env(det_distributed **out, det_error *err) noexcept {
  return guarded(
      err, [&] { give(out, "out", [&] { return handle_for(det::launch_from_environment()); }); });
}

det_status det_distributed_from_functions(const det_distributed_options *options,
                                          const det_communicator_functions *functions,
                                          void *user_data, det_distributed **out,
                                          det_error *err) noexcept {
  // The job of one process, the only one in this release, sends nothing: what the caller brought
  // is destroyed at once.
  const det_status status = guarded(err, [&] {
    det_distributed *&handle = cleared(out, "out");
    const det_communicator_functions given = read_options<det_communicator_functions>(
        &deref(functions, "functions"), {sizeof given, nullptr, nullptr, nullptr}, "functions");
    if (given.send == nullptr || given.receive == nullptr)
      throw det::Error(det::Code::invalid, "functions.send and functions.receive must not be NULL");
    handle = handle_for(launch_from(
        read_options<det_distributed_options>(options, DET_DISTRIBUTED_OPTIONS_INIT, "options")));
  });
  if (functions != nullptr &&
      functions->struct_size >= offsetof(det_communicator_functions, destroy) + sizeof(void *) &&
      functions->destroy != nullptr)
    functions->destroy(user_data);
  return status;
}

void det_distributed_free(det_distributed *distributed) noexcept {
  if (distributed != nullptr && distributed->owned) delete distributed;
}

int32_t det_distributed_rank(const det_distributed *distributed) noexcept {
  return ranks_of(distributed).rank;
}
int32_t det_distributed_size(const det_distributed *distributed) noexcept {
  return ranks_of(distributed).size;
}
int32_t det_distributed_local_rank(const det_distributed *distributed) noexcept {
  return ranks_of(distributed).local_rank;
}
int32_t det_distributed_local_size(const det_distributed *distributed) noexcept {
  return ranks_of(distributed).local_size;
}
int32_t det_distributed_cross_rank(const det_distributed *distributed) noexcept {
  return ranks_of(distributed).cross_rank;
}
int32_t det_distributed_cross_size(const det_distributed *distributed) noexcept {
  return ranks_of(distributed).cross_size;
}

det_status det_distributed_gather(det_distributed *distributed, const void *data, size_t size,
                                  det_messages **out, det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::Communicator::gather);
}

det_status det_distributed_gather_local(det_distributed *distributed, const void *data, size_t size,
                                        det_messages **out, det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::Communicator::gather_local);
}

det_status det_distributed_allgather(det_distributed *distributed, const void *data, size_t size,
                                     det_messages **out, det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::Communicator::allgather);
}

det_status det_distributed_allgather_local(det_distributed *distributed, const void *data,
                                           size_t size, det_messages **out,
                                           det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::Communicator::allgather_local);
}

det_status det_distributed_broadcast(det_distributed *distributed, const void *data, size_t size,
                                     det_messages **out, det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::Communicator::broadcast);
}

det_status det_distributed_broadcast_local(det_distributed *distributed, const void *data,
                                           size_t size, det_messages **out,
                                           det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::Communicator::broadcast_local);
}

size_t det_messages_count(const det_messages *messages) noexcept {
  return messages != nullptr ? messages->list.size() : 0;
}

const void *det_messages_data(const det_messages *messages, size_t index, size_t *size) noexcept {
  if (size != nullptr) *size = 0;
  if (messages == nullptr || index >= messages->list.size()) return nullptr;
  const det::Message &message = messages->list[index];
  if (!message) return nullptr;
  if (size != nullptr) *size = message->size();
  return message->data();
}

void det_messages_free(det_messages *messages) noexcept { delete messages; }
