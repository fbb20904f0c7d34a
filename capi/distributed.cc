#include <det/distributed.h>

#include <array>
#include <functional>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/mpi_library.h"
#include "core/comm/functions.h"
#include "core/comm/join/join.h"
#include "core/comm/joined.h"

namespace {

static_assert(det::comm::short_message_limit == DET_SHORT_MESSAGE);

det_distributed_context *handle_for(std::unique_ptr<det::comm::Communicator> communicator) {
  auto handle = std::make_unique<det_distributed_context>();
  handle->owned = std::move(communicator);
  handle->impl = handle->owned.get();
  return handle.release();
}

det_distributed_context *handle_for(const det::comm::Launch &launch) {
  return handle_for(det::comm::join(launch, det::comm::JoinOptions()));
}

det::comm::Launch launch_from(const det_distributed_options &options) {
  const std::array numbers{options.rank,       options.size,       options.local_rank,
                           options.local_size, options.cross_rank, options.cross_size};
  const auto unset = std::count(numbers.begin(), numbers.end(), -1);
  const auto is_same = [&](int number) { return number == numbers.front(); };
  if ((options.size == 0 || options.size == -1) &&
      std::all_of(numbers.begin(), numbers.end(), is_same))
    return {};
  if (unset > 0)
    throw det::Error(det::Code::invalid,
                     "joining a job: set all of rank, size, local_rank, local_size, cross_rank and "
                     "cross_size, or none");
  det::comm::Launch launch;
  launch.ranks = {options.rank,       options.size,       options.local_rank,
                  options.local_size, options.cross_rank, options.cross_size};
  launch.chief_ip = det::comm::chief_or_variable(text_or_empty(options.chief_ip));
  return launch;
}

std::chrono::milliseconds timeout_from(const det_distributed_options &options) {
  if (options.timeout_ms == DET_TIMEOUT_NONE)
    throw det::Error(det::Code::invalid,
                     "joining a job: timeout_ms is DET_TIMEOUT_NONE; ranks need a while to come");
  return finite_limit_from(options.timeout_ms, {}, "joining a job: timeout_ms");
}

// An MPI that does not know the launcher starts every rank as a job of its own.
void check_size(det_distributed_context *&handle, const det::comm::Launch &launch) {
  const int size = handle->impl->ranks().size;
  if (launch.ranks.size == 0 || launch.ranks.size == size) return;
  det_distributed_free(std::exchange(handle, nullptr));
  throw det::Error(det::Code::invalid,
                   "joining a job of " + std::to_string(launch.ranks.size) + " ranks launched by " +
                       launch.launcher + ": MPI sees " + std::to_string(size) +
                       "; launch it with the mpirun of the MPI that libdetcore-mpi was built "
                       "with, or with srun --mpi=pmix");
}

// The caller's transport, destroyed whatever happens.
std::unique_ptr<det::comm::Transport> transport_from(const det_communicator_functions *functions,
                                                     void *user_data) {
  det_communicator_functions nothing = DET_COMMUNICATOR_FUNCTIONS_INIT;
  const det_communicator_functions given =
      read_options(&deref(functions, "functions"), nothing, "functions");
  std::unique_ptr<det::comm::Transport> transport = det::comm::make_function_transport(
      {given.send, given.receive, given.broadcast, given.destroy, given.any_pair != 0,
       given.shared_memory != 0, given.start_sum, given.finish_sums, given.give_up},
      user_data);
  if (given.send == nullptr || given.receive == nullptr)
    throw det::Error(det::Code::invalid, "functions.send and functions.receive must not be NULL");
  return transport;
}

det::comm::MessageView message_from(const void *data, size_t size) {
  counted(size, "size");
  if (data != nullptr) return std::string_view(static_cast<const char *>(data), size);
  if (size != 0)
    throw det::Error(det::Code::invalid, "data must not be NULL with size " + std::to_string(size));
  return std::nullopt;
}

bool is_large(const det::comm::Message &message) {
  return message && message->size() >= det::comm::SpareBuffers::smallest;
}

using List = std::vector<det::comm::Message>;
std::optional<List> as_list(List list) { return list; }
std::optional<List> as_list(std::optional<List> list) { return list; }
std::optional<List> as_list(det::comm::Message message) {
  List list;
  list.push_back(std::move(message));
  return list;
}

// One collective: all six differ in the member function only.
template <class Result>
det_status collective(det_distributed_context *distributed, const void *data, size_t size,
                      det_messages **out, det_error *err,
                      Result (det::comm::Communicator::*call)(const det::comm::MessageView &,
                                                              const det::comm::Call &)) noexcept {
  return guarded(err, [&] {
    det_messages *&messages = cleared(out, "out");
    det::comm::Communicator &communicator = *deref(distributed, "distributed").impl;
    std::optional<List> list =
        as_list((communicator.*call)(message_from(data, size), det::comm::Call()));
    if (!list) return;
    messages = new det_messages{std::move(*list), nullptr};
    if (std::any_of(messages->list.begin(), messages->list.end(), is_large))
      messages->spare = communicator.spare_buffers();
  });
}

const det::comm::Ranks &ranks_of(const det_distributed_context *distributed) {
  static constexpr det::comm::Ranks one_process;
  return distributed != nullptr ? distributed->impl->ranks() : one_process;
}

}  // namespace

det_status det_distributed_create(const det_distributed_options *options,
                                  det_distributed_context **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const auto given =
          read_options<det_distributed_options>(options, DET_DISTRIBUTED_OPTIONS_INIT, "options");
      return handle_for(det::comm::join(
          launch_from(given),
          {given.pub_port, given.port_offset, given.force_tcp != 0, timeout_from(given)}));
    });
  });
}

det_status det_distributed_from_horovod(const char *chief_ip, det_distributed_context **out,
                                        det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out",
         [&] { return handle_for(det::comm::launch_from_horovod(text_or_empty(chief_ip))); });
  });
}

det_status det_distributed_from_deepspeed(const char *chief_ip, det_distributed_context **out,
                                          det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out",
         [&] { return handle_for(det::comm::launch_from_deepspeed(text_or_empty(chief_ip))); });
  });
}

det_status det_distributed_from_torch(const char *chief_ip, det_distributed_context **out,
                                      det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out",
         [&] { return handle_for(det::comm::launch_from_torch(text_or_empty(chief_ip))); });
  });
}

det_status det_distributed_from_tf_config(det_distributed_context **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] { return handle_for(det::comm::launch_from_tf_config()); });
  });
}

det_status det_distributed_from_env(det_distributed_context **out, det_error *err) noexcept {
  return answered(err, [&] {
    det_distributed_context *&handle = cleared(out, "out");
    const det::comm::Launch launch = det::comm::launch_from_environment();
    const JoinMpiWorld join_mpi_world = launch.through_mpi ? load_mpi_library(launch) : nullptr;
    if (join_mpi_world == nullptr) {
      handle = handle_for(launch);
      return DET_OK;
    }
    const det_status status = join_mpi_world(out, err);
    if (status == DET_OK) check_size(handle, launch);
    return status;
  });
}

det_status det_distributed_from_functions(const det_distributed_options *options,
                                          const det_communicator_functions *functions,
                                          void *user_data, det_distributed_context **out,
                                          det_error *err) noexcept {
  return guarded(err, [&] {
    if (out != nullptr) *out = nullptr;
    std::unique_ptr<det::comm::Transport> transport = transport_from(functions, user_data);
    give(out, "out", [&] {
      const auto given =
          read_options<det_distributed_options>(options, DET_DISTRIBUTED_OPTIONS_INIT, "options");
      const det::comm::Ranks ranks = launch_from(given).ranks;
      det::comm::check_ranks(ranks);
      auto timeout = timeout_from(given);
      if (timeout.count() == 0) timeout = det::comm::default_join_timeout();
      return handle_for(det::comm::make_joined_communicator(ranks, std::move(transport), timeout));
    });
  });
}

det_status det_distributed_set_wait_callback(det_distributed_context *distributed,
                                             det_wait_callback callback, void *user_data,
                                             det_error *err) noexcept {
  return guarded(err, [&] {
    std::function<bool()> goes_on;
    if (callback != nullptr) goes_on = [=] { return callback(user_data) >= 0; };
    deref(distributed, "distributed").impl->ask_while_waiting(std::move(goes_on));
  });
}

void det_distributed_free(det_distributed_context *distributed) noexcept {
  if (distributed != nullptr && distributed->owned) delete distributed;
}

int32_t det_distributed_rank(const det_distributed_context *distributed) noexcept {
  return ranks_of(distributed).rank;
}
int32_t det_distributed_size(const det_distributed_context *distributed) noexcept {
  return ranks_of(distributed).size;
}
int32_t det_distributed_local_rank(const det_distributed_context *distributed) noexcept {
  return ranks_of(distributed).local_rank;
}
int32_t det_distributed_local_size(const det_distributed_context *distributed) noexcept {
  return ranks_of(distributed).local_size;
}
int32_t det_distributed_cross_rank(const det_distributed_context *distributed) noexcept {
  return ranks_of(distributed).cross_rank;
}
int32_t det_distributed_cross_size(const det_distributed_context *distributed) noexcept {
  return ranks_of(distributed).cross_size;
}

det_status det_distributed_gather(det_distributed_context *distributed, const void *data,
                                  size_t size, det_messages **out, det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::comm::Communicator::gather);
}

det_status det_distributed_gather_local(det_distributed_context *distributed, const void *data,
                                        size_t size, det_messages **out, det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::comm::Communicator::gather_local);
}

det_status det_distributed_allgather(det_distributed_context *distributed, const void *data,
                                     size_t size, det_messages **out, det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::comm::Communicator::allgather);
}

det_status det_distributed_allgather_local(det_distributed_context *distributed, const void *data,
                                           size_t size, det_messages **out,
                                           det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::comm::Communicator::allgather_local);
}

det_status det_distributed_broadcast(det_distributed_context *distributed, const void *data,
                                     size_t size, det_messages **out, det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::comm::Communicator::broadcast);
}

det_status det_distributed_broadcast_local(det_distributed_context *distributed, const void *data,
                                           size_t size, det_messages **out,
                                           det_error *err) noexcept {
  return collective(distributed, data, size, out, err, &det::comm::Communicator::broadcast_local);
}

size_t det_messages_count(const det_messages *messages) noexcept {
  return messages != nullptr ? messages->list.size() : 0;
}

const void *det_messages_data(const det_messages *messages, size_t index, size_t *size) noexcept {
  if (size != nullptr) *size = 0;
  if (messages == nullptr || index >= messages->list.size()) return nullptr;
  const det::comm::Message &message = messages->list[index];
  if (!message) return nullptr;
  if (size != nullptr) *size = message->size();
  return message->data();
}

void det_messages_free(det_messages *messages) noexcept {
  if (messages == nullptr) return;
  or_else(0, [&] {
    if (messages->spare)
      for (det::comm::Message &message : messages->list)
        if (message) messages->spare->give(std::move(*message));
    return 0;
  });
  delete messages;
}
