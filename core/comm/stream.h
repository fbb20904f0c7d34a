// One connection between two ranks: the frames of both channels over a stream socket. It ends with
// the rank, also where forked children of it live on.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/process/unshared_fd.h"
#include "core/comm/frame.h"
#include "core/comm/transport.h"

namespace det::comm {

// Waits until `fd` is ready for one of `events` of poll(2), and gives those that it is ready for;
// 0 when `patience` ends first.
short wait_for(int fd, short events, Patience &patience);

// Each channel may have a thread of its own: what one reads that is another's waits for that one.
class Stream {
 public:
  // `fd` does not block. `peer` is how errors call the other side.
  Stream(UnsharedFd fd, std::string peer, std::shared_ptr<SpareBuffers> spare)
      : fd_(std::move(fd)), peer_(std::move(peer)), spare_(std::move(spare)) {}
  ~Stream();

  // As those of Transport.
  bool send(const FrameHead &head, std::string_view payload, Patience &patience);
  bool receive_head(Channel channel, FrameHead &head, Patience &patience);
  std::string receive_payload(Channel channel, Patience &patience);
  void check_peer() const;

 private:
  struct Incoming {
    FrameHead head;
    std::string payload;
    size_t done = 0;  // of it
    bool is_whole() const { return done == head.size; }
  };
  class Reader;
  struct Inbox {
    std::deque<std::shared_ptr<Incoming>> frames;
    std::shared_ptr<Incoming> taken;  // the last one whose head was
  };

  Inbox &inbox(Channel channel) { return inboxes_[static_cast<size_t>(channel)]; }
  bool peer_interrupts(const FrameHead &head);
  size_t read_into(char *to, size_t capacity);
  bool read_some();
  void sort_out();
  bool wait_to_read(Patience &patience);
  [[noreturn]] void lose(int os_errno) const;
  [[noreturn]] void stall() const;

  const UnsharedFd fd_;
  const std::string peer_;
  const std::shared_ptr<SpareBuffers> spare_;

  std::mutex writing_;  // one frame at a time
  std::mutex reading_;  // what follows
  std::string ahead_;   // less than a head
  std::shared_ptr<Incoming> growing_;
  std::array<Inbox, 2> inboxes_;
  std::atomic<int> readers_{0};
};

}  // namespace det::comm
