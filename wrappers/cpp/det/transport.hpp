// Your own way to carry messages between ranks.
#pragma once

#include <det/distributed.h>
#include <det/detail/callbacks.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace det {
inline namespace v1 {

// See det_communicator_functions. Each function returns 0, ETIMEDOUT, or another error number. If
// it throws, the caller of the collective gets the exception.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int send(int peer, int channel, const void *data, size_t size, int64_t timeout_ms) = 0;
  virtual int receive(int peer, int channel, void *data, size_t capacity, size_t &size,
                      int64_t timeout_ms) = 0;

  // Called only if can_broadcast() is true.
  virtual int broadcast(int, int, void *, size_t, int64_t) { return ENOSYS; }
  [[nodiscard]] virtual bool can_broadcast() const { return false; }
  [[nodiscard]] virtual bool any_pair() const { return false; }
  [[nodiscard]] virtual bool shared_memory() const { return false; }
};

namespace detail {

// The functions of a transport, which C then owns. The caller names its OnFailure.
template <class On>
det_communicator_functions functions_of(const Transport *transport) {
  det_communicator_functions functions = DET_COMMUNICATOR_FUNCTIONS_INIT;
  if (transport == nullptr) return functions;
  functions.send = [](int32_t peer, int32_t channel, const void *data, size_t size,
                      int64_t timeout_ms, void *self) noexcept {
    return detail::answered(EIO, [&] {
      return static_cast<Transport *>(self)->send(peer, channel, data, size, timeout_ms);
    });
  };
  functions.receive = [](int32_t peer, int32_t channel, void *data, size_t capacity, size_t *size,
                         int64_t timeout_ms, void *self) noexcept {
    return detail::answered(EIO, [&] {
      return static_cast<Transport *>(self)->receive(peer, channel, data, capacity, *size,
                                                     timeout_ms);
    });
  };
  if (transport->can_broadcast())
    functions.broadcast = [](int32_t root, int32_t channel, void *data, size_t size,
                             int64_t timeout_ms, void *self) noexcept {
      return detail::answered(EIO, [&] {
        return static_cast<Transport *>(self)->broadcast(root, channel, data, size, timeout_ms);
      });
    };
  functions.destroy = [](void *self) noexcept { delete static_cast<Transport *>(self); };
  functions.any_pair = transport->any_pair() ? 1 : 0;
  functions.shared_memory = transport->shared_memory() ? 1 : 0;
  return functions;
}

}  // namespace detail
}  // namespace v1
}  // namespace det
