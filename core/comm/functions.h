// A transport made of the caller's functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/comm/transport.h"

namespace det::comm {

// As det_communicator_functions in include/det/distributed.h.
struct TransportFunctions {
  int32_t (*send)(int32_t peer, int32_t channel, const void *data, size_t size, int64_t timeout_ms,
                  void *user_data) = nullptr;
  int32_t (*receive)(int32_t peer, int32_t channel, void *data, size_t capacity, size_t *size,
                     int64_t timeout_ms, void *user_data) = nullptr;
  int32_t (*broadcast)(int32_t root, int32_t channel, void *data, size_t size, int64_t timeout_ms,
                       void *user_data) = nullptr;
  void (*destroy)(void *user_data) = nullptr;
  bool any_pair = false;
  bool shares_memory = false;
  int32_t (*start_sum)(void *data, size_t count, int32_t dtype, void *user_data) = nullptr;
  int32_t (*finish_sums)(int64_t timeout_ms, void *user_data) = nullptr;
  void (*give_up)(void *user_data) = nullptr;
};

// Calls `destroy` at the end, also when this throws.
std::unique_ptr<Transport> make_function_transport(const TransportFunctions &functions,
                                                   void *user_data);

// Every MPI sends messages up to this long without waiting for the receiver.
constexpr size_t short_message_limit = 4000;

}  // namespace det::comm
