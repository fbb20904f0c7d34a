#include "core/comm/functions.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace det {

namespace {

class FunctionTransport : public Transport {
 public:
  FunctionTransport(const TransportFunctions &functions, void *user_data)
      : functions_(functions), user_data_(user_data) {}
  ~FunctionTransport() override {
    if (functions_.destroy != nullptr) functions_.destroy(user_data_);
  }

  void send(int peer, Channel channel, const FrameHead &head, std::string_view payload,
            Patience &patience) override {
    std::array<char, short_message_limit> message;  // filled as far as it is sent
    encode_head(head, message.data());
    // Only the reason of a failure can be longer than what is not bulk.
    const size_t size = std::min(payload.size(), bulk_above());
    std::copy_n(payload.begin(), size, &message[frame_head_size]);
    send_message(peer, channel, message.data(), frame_head_size + size, patience);
  }

  bool receive(int peer, Channel channel, Frame &frame, Patience &patience) override {
    std::array<char, short_message_limit> message;  // read as far as it was filled
    size_t size = 0;
    const int32_t result = receive_message(peer, channel, message.data(), message.size(), &size,
                                           milliseconds(patience));
    if (result == ETIMEDOUT) {
      patience.exhaust();
      return false;
    }
    check(result, "receiving from", peer);
    const std::string_view text(message.data(), std::min(size, message.size()));
    frame.head = decode_head(text);
    frame.payload = text.substr(frame_head_size);
    if (!frame.head.is_bulk && frame.payload.size() != std::min(frame.head.size, bulk_above()))
      refuse_part(peer);
    return true;
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

  bool any_pair() const override { return functions_.any_pair; }
  size_t bulk_above() const override { return short_message_limit - frame_head_size; }
  bool can_broadcast() const override { return functions_.broadcast != nullptr; }
  void broadcast_bulk(int root, Channel channel, char *data, size_t size,
                      Patience &patience) override {
    check(functions_.broadcast(root, static_cast<int32_t>(channel), data, size,
                               milliseconds(patience), user_data_),
          "a broadcast from", root);
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
                          int32_t timeout_ms) {
    return functions_.receive(peer, static_cast<int32_t>(channel), data, capacity, size, timeout_ms,
                              user_data_);
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

  const TransportFunctions functions_;
  void *const user_data_;
};

}  // namespace

std::unique_ptr<Transport> make_function_transport(const TransportFunctions &functions,
                                                   void *user_data) {
  return std::make_unique<FunctionTransport>(functions, user_data);
}

}  // namespace det
