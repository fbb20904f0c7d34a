#include "core/comm/functions.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace det::comm {

namespace {

class FunctionTransport : public Transport {
 public:
  FunctionTransport(const TransportFunctions &functions, void *user_data)
      : functions_(functions), user_data_(user_data) {}
  ~FunctionTransport() override {
    if (functions_.destroy != nullptr) functions_.destroy(user_data_);
  }

  bool send(int peer, Channel channel, const FrameHead &head, std::string_view payload,
            Patience &patience) override {
    std::array<char, short_message_limit> message;  // filled as far as it is sent
    encode_head(head, message.data());
    // Only the reason of a failure can be longer than what is not bulk.
    const size_t size = std::min(payload.size(), bulk_above());
    std::copy_n(payload.begin(), size, &message[frame_head_size]);
    send_message(peer, channel, message.data(), frame_head_size + size, patience);
    return true;
  }

  bool receive_head(int peer, Channel channel, FrameHead &head, Patience &patience) override {
    Received &received = received_[static_cast<size_t>(channel)];
    size_t size = 0;
    const int32_t result = receive_message(peer, channel, received.bytes.data(),
                                           received.bytes.size(), &size, milliseconds(patience));
    if (result == ETIMEDOUT) {
      patience.exhaust();
      return false;
    }
    check(result, "receiving from", peer);
    received.size = std::min(size, received.bytes.size());
    head = decode_head({received.bytes.data(), received.size});
    if (!head.is_bulk && received.size - frame_head_size != std::min(head.size, bulk_above()))
      refuse_part(peer);
    return true;
  }
  std::string receive_payload(int /*peer*/, Channel channel, const FrameHead & /*head*/,
                              Patience & /*patience*/) override {
    const Received &received = received_[static_cast<size_t>(channel)];
    return {&received.bytes[frame_head_size], received.size - frame_head_size};
  }

  void send_bulk(int peer, Channel channel, std::string_view payload, Patience &patience) override {
    send_message(peer, channel, payload.data(), payload.size(), patience);
  }
  void receive_bulk(int peer, Channel channel, char *data, size_t size,
                    Patience &patience) override {
    size_t received = 0;
    check(receive_message(peer, channel, data, size, &received, milliseconds(patience)),
          "receiving from", peer);
    if (received != size) refuse_part(peer);
  }

  void give_up() noexcept override {
    if (functions_.give_up != nullptr) functions_.give_up(user_data_);
  }

  bool any_pair() const override { return functions_.any_pair; }
  bool shares_memory() const override { return functions_.shares_memory; }
  size_t bulk_above() const override { return short_message_limit - frame_head_size; }
  bool can_broadcast() const override { return functions_.broadcast != nullptr; }
  void broadcast_bulk(int root, Channel channel, char *data, size_t size,
                      Patience &patience) override {
    check(functions_.broadcast(root, static_cast<int32_t>(channel), data, size,
                               milliseconds(patience), user_data_),
          "a broadcast from", root);
  }

  bool can_sum() const override {
    return functions_.start_sum != nullptr && functions_.finish_sums != nullptr;
  }
  void start_sum(char *data, size_t count, int dtype) override {
    check_sum(functions_.start_sum(data, count, dtype, user_data_));
  }
  bool finish_sums(Patience &patience) override {
    const int32_t result = functions_.finish_sums(milliseconds(patience), user_data_);
    if (result != ETIMEDOUT) check_sum(result);
    return result == 0;
  }

 private:
  static int32_t milliseconds(Patience &patience) {
    return static_cast<int32_t>(std::min<int64_t>(patience.for_one_wait().count(), INT32_MAX));
  }
  void send_message(int peer, Channel channel, const char *data, size_t size, Patience &patience) {
    check(functions_.send(peer, static_cast<int32_t>(channel), data, size, milliseconds(patience),
                          user_data_),
          "sending to", peer);
  }
  int32_t receive_message(int peer, Channel channel, char *data, size_t capacity, size_t *size,
                          int64_t timeout_ms) {
    return functions_.receive(peer, static_cast<int32_t>(channel), data, capacity, size, timeout_ms,
                              user_data_);
  }
  static void check_sum(int32_t result) {
    if (result != 0)
      throw Error(Code::unavailable,
                  "summing over ranks: the transport failed (" + errno_text(result) + ")", result);
  }
  [[noreturn]] static void refuse_part(int peer) {
    throw Error(Code::corrupt, "receiving from rank " + std::to_string(peer) +
                                   ": the transport delivered a part of a message");
  }
  static void check(int32_t result, const char *what, int peer) {
    if (result == 0) return;
    const std::string tried = std::string(what) + " rank " + std::to_string(peer);
    if (result == ETIMEDOUT)
      throw Error(Code::timeout, tried + ": it did not take part in time", result);
    throw Error(Code::unavailable, tried + ": the transport failed (" + errno_text(result) + ")",
                result);
  }

  // The last message of each channel; a channel has one collective at a time.
  struct Received {
    std::array<char, short_message_limit> bytes;  // read as far as it was filled
    size_t size = frame_head_size;
  };

  const TransportFunctions functions_;
  void *const user_data_;
  std::array<Received, 2> received_;
};

}  // namespace

std::unique_ptr<Transport> make_function_transport(const TransportFunctions &functions,
                                                   void *user_data) {
  return std::make_unique<FunctionTransport>(functions, user_data);
}

}  // namespace det::comm
