// One connection between two ranks: frames over a stream socket.
#pragma once

#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/comm/frame.h"
#include "core/comm/transport.h"

namespace det {

// Waits until `fd` is ready for `events` of poll(2); false when `patience` ends first.
bool wait_for(int fd, short events, Patience &patience);

class Stream {
 public:
  // `fd` does not block. `peer` is how errors call the other side.
  Stream(Fd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}
  ~Stream();

  // Both throw Code::unavailable when the other side is gone; send() throws Code::timeout at the
  // end of `patience`, receive() returns false, with nothing taken from the stream.
  void send(const FrameHead &head, std::string_view payload, Patience &patience);
  // Long payloads go into `spare` memory.
  bool receive(Frame &frame, Patience &patience, SpareBuffers &spare);

 private:
  size_t read_some(char *to, size_t capacity);
  void read_all(char *to, size_t size, Patience &patience);
  [[noreturn]] void lose(int os_errno) const;
  [[noreturn]] void stall() const;

  Fd fd_;
  std::string peer_;
  std::string ahead_;  // read together with an earlier frame
};

}  // namespace det
