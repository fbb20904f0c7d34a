// One connection between two ranks: frames over a stream socket.
#pragma once

#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/comm/frame.h"
#include "core/comm/transport.h"

namespace det {

// Waits until `fd` is ready for one of `events` of poll(2), and gives those that it is ready for;
// 0 when `patience` ends first.
short wait_for(int fd, short events, Patience &patience);

class Stream {
 public:
  // `fd` does not block. `peer` is how errors call the other side.
  Stream(Fd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}
  ~Stream();

  // As those of Transport.
  bool send(const FrameHead &head, std::string_view payload, Patience &patience);
  bool receive_head(FrameHead &head, Patience &patience);
  std::string receive_payload(const FrameHead &head, Patience &patience, SpareBuffers &spare);
  void check_peer() const;

 private:
  bool peer_interrupts(const FrameHead &head);
  size_t read_some(char *to, size_t capacity);
  bool read_ahead();
  bool read_all(char *to, size_t size, Patience &patience);
  bool skip_payload(Patience &patience);
  [[noreturn]] void lose(int os_errno) const;
  [[noreturn]] void stall() const;

  Fd fd_;
  std::string peer_;
  std::string ahead_;       // read together with an earlier frame
  uint64_t not_taken_ = 0;  // of the last head's payload
};

}  // namespace det
