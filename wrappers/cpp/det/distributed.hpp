// The ranks of one trial, and small messages between them. See det/distributed.h.
#pragma once

#include <det/distributed.h>
#include <det/detail/callbacks.hpp>
#include <det/detail/handle.hpp>
#include <det/detail/index_iterator.hpp>
#include <det/error.hpp>
#include <det/transport.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace det {
inline namespace v1 {

// One message per rank, in rank order. The texts are borrowed. One without data() is the null
// message.
class Messages {
 public:
  Messages() noexcept = default;
  explicit Messages(det_messages *owned) noexcept : messages_(owned) {}

  [[nodiscard]] size_t size() const noexcept { return det_messages_count(messages_.get()); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::string_view operator[](size_t index) const noexcept {
    size_t bytes = 0;
    const void *data = det_messages_data(messages_.get(), index, &bytes);
    return {static_cast<const char *>(data), bytes};
  }
  [[nodiscard]] detail::IndexIterator<Messages> begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] detail::IndexIterator<Messages> end() const noexcept { return {*this, size()}; }

  [[nodiscard]] det_messages *capi() const noexcept { return messages_.get(); }

 private:
  detail::Handle<det_messages, det_messages_free> messages_;
};

// The ranks of a job, borrowed from a core or from a Distributed.
//
// Collectives take bytes, such as a std::string, and return Messages.
class DistributedView {
 public:
  explicit DistributedView(det_distributed_context *distributed) noexcept
      : distributed_(distributed) {}
  DistributedView(const DistributedView &) noexcept = default;
  DistributedView &operator=(const DistributedView &) = delete;  // an owner would lose its handle
  ~DistributedView() = default;

  [[nodiscard]] int rank() const noexcept { return det_distributed_rank(distributed_); }
  [[nodiscard]] int size() const noexcept { return det_distributed_size(distributed_); }
  [[nodiscard]] int local_rank() const noexcept { return det_distributed_local_rank(distributed_); }
  [[nodiscard]] int local_size() const noexcept { return det_distributed_local_size(distributed_); }
  [[nodiscard]] int cross_rank() const noexcept { return det_distributed_cross_rank(distributed_); }
  [[nodiscard]] int cross_size() const noexcept { return det_distributed_cross_size(distributed_); }

  // The chief gets the messages, other ranks nothing.
  Messages gather(std::string_view bytes, OnFailure on = {}) const {
    return collect(on, det_distributed_gather, bytes);
  }
  Messages gather_local(std::string_view bytes, OnFailure on = {}) const {
    return collect(on, det_distributed_gather_local, bytes);
  }
  Messages allgather(std::string_view bytes, OnFailure on = {}) const {
    return collect(on, det_distributed_allgather, bytes);
  }
  Messages allgather_local(std::string_view bytes, OnFailure on = {}) const {
    return collect(on, det_distributed_allgather_local, bytes);
  }
  // All ranks get the chief's message, as a list of one.
  Messages broadcast(std::string_view bytes, OnFailure on = {}) const {
    return collect(on, det_distributed_broadcast, bytes);
  }
  Messages broadcast_local(std::string_view bytes, OnFailure on = {}) const {
    return collect(on, det_distributed_broadcast_local, bytes);
  }

  [[nodiscard]] det_distributed_context *capi() const noexcept { return distributed_; }

 protected:
  det_distributed_context *distributed_;

 private:
  template <class Function>
  Messages collect(OnFailure on, Function *function, std::string_view bytes) const {
    det_messages *messages = nullptr;
    detail::call(on, function, distributed_, static_cast<const void *>(bytes.data()), bytes.size(),
                 &messages);
    return Messages(messages);
  }
};

// A member that is -1, 0 or empty is not set. See det_distributed_options.
struct DistributedOptions {
  int rank = -1;
  int size = -1;
  int local_rank = -1;
  int local_size = -1;
  int cross_rank = -1;
  int cross_size = -1;
  std::string chief_ip;
  int pub_port = 0;
  int port_offset = 0;
  bool force_tcp = false;
  Timeout timeout;
};

// Called several times a second. True: continue to wait for other ranks. It must not call the
// library.
using WaitCallback = std::function<bool()>;

// The ranks of a job that this process has joined.
class Distributed : public DistributedView {
 public:
  Distributed() noexcept : DistributedView(nullptr) {}
  explicit Distributed(det_distributed_context *owned) noexcept : DistributedView(owned) {}
  Distributed(Distributed &&other) noexcept
      : DistributedView(std::exchange(other.distributed_, nullptr)),
        wait_(std::move(other.wait_)) {}
  Distributed &operator=(Distributed &&other) noexcept {
    Distributed taken(std::move(other));
    std::swap(distributed_, taken.distributed_);
    std::swap(wait_, taken.wait_);
    return *this;
  }
  ~Distributed() {
    if (distributed_ == nullptr) return;
    det_distributed_free(distributed_);
    detail::thrown_by_callback() = nullptr;  // of a transport that was left
  }

  [[nodiscard]] explicit operator bool() const noexcept { return distributed_ != nullptr; }

  // If the callback throws, the call that waited throws the exception, also in a core. An empty
  // callback ends that.
  void set_wait_callback(WaitCallback callback, OnFailure on = {});

  [[nodiscard]] static Distributed create(const DistributedOptions &options, OnFailure on = {}) {
    const det_distributed_options c_options = to_c(options);
    return make(on, det_distributed_create, &c_options);
  }
  [[nodiscard]] static Distributed from_env(OnFailure on = {}) {
    return make(on, det_distributed_from_env);
  }
  [[nodiscard]] static Distributed from_horovod(Text chief_ip = {}, OnFailure on = {}) {
    return make(on, det_distributed_from_horovod, chief_ip.c_str());
  }
  [[nodiscard]] static Distributed from_deepspeed(Text chief_ip = {}, OnFailure on = {}) {
    return make(on, det_distributed_from_deepspeed, chief_ip.c_str());
  }
  [[nodiscard]] static Distributed from_torch(Text chief_ip = {}, OnFailure on = {}) {
    return make(on, det_distributed_from_torch, chief_ip.c_str());
  }
  [[nodiscard]] static Distributed from_tf_config(OnFailure on = {}) {
    return make(on, det_distributed_from_tf_config);
  }
  [[nodiscard]] static Distributed from_transport(const DistributedOptions &options,
                                                  std::unique_ptr<Transport> transport,
                                                  OnFailure on = {});

 private:
  template <class Function, class... Arguments>
  static Distributed make(OnFailure on, Function *function, Arguments... arguments) {
    det_distributed_context *distributed = nullptr;
    detail::call(on, function, arguments..., &distributed);
    return Distributed(distributed);
  }

  static det_distributed_options to_c(const DistributedOptions &options) noexcept {
    det_distributed_options c_options = DET_DISTRIBUTED_OPTIONS_INIT;
    c_options.rank = options.rank;
    c_options.size = options.size;
    c_options.local_rank = options.local_rank;
    c_options.local_size = options.local_size;
    c_options.cross_rank = options.cross_rank;
    c_options.cross_size = options.cross_size;
    c_options.chief_ip = detail::null_if_empty(options.chief_ip);
    c_options.pub_port = options.pub_port;
    c_options.port_offset = options.port_offset;
    c_options.force_tcp = options.force_tcp ? 1 : 0;
    c_options.timeout_ms = options.timeout.capi();
    return c_options;
  }

  std::unique_ptr<WaitCallback> wait_;  // does not move when this is moved
};

inline void Distributed::set_wait_callback(WaitCallback callback, OnFailure on) {
  auto wait = callback ? std::make_unique<WaitCallback>(std::move(callback)) : nullptr;
  const auto ask = [](void *self) noexcept {
    return detail::answered(-1, [&] { return (*static_cast<WaitCallback *>(self))() ? 0 : -1; });
  };
  const det_status status = detail::call(on, det_distributed_set_wait_callback, distributed_,
                                         wait != nullptr ? det_wait_callback(ask) : nullptr,
                                         static_cast<void *>(wait.get()));
  if (status >= 0) wait_ = std::move(wait);
}

inline Distributed Distributed::from_transport(const DistributedOptions &options,
                                               std::unique_ptr<Transport> transport, OnFailure on) {
  const det_communicator_functions functions = detail::functions_of<OnFailure>(transport.get());
  const det_distributed_options c_options = to_c(options);
  return make(on, det_distributed_from_functions, &c_options, &functions,
              static_cast<void *>(transport.release()));
}

}  // namespace v1
}  // namespace det
