#include "core/comm/stream.h"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace det {

namespace {

constexpr size_t at_once = size_t{16} << 20U;
// An answer that comes at once is there before a core that went to sleep would be awake again.
constexpr int quick_looks = 100;

}  // namespace

bool wait_for(int fd, short events, Patience &patience) {
  for (;;) {
    const auto left = patience.left().count();
    pollfd waiting{fd, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, 1'000'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) OsFailure{errno}.raise("waiting for another rank");
    if (ready == 0 && left <= 1'000'000) return false;
  }
}

// What was sent last, such as the reason for leaving, reaches the other side only if nothing from
// there is left unread.
Stream::~Stream() {
  if (!fd_) return;
  std::array<char, 4096> unread;
  while (recv(fd_.get(), unread.data(), unread.size(), MSG_DONTWAIT) > 0) {
  }
}

void Stream::lose(int os_errno) const {
  throw Error(Code::unavailable,
              "talking to " + peer_ + ": it is gone (" +
                  (os_errno == 0 ? "it closed the connection" : errno_text(os_errno)) +
                  "); see its own output",
              os_errno);
}

void Stream::stall() const {
  throw Error(Code::timeout, "talking to " + peer_ + ": it takes no data; see what it is doing");
}

void Stream::send(const FrameHead &head, std::string_view payload, Patience &patience) {
  std::array<char, frame_head_size> bytes;
  encode_head(head, bytes.data());
  std::array<iovec, 2> parts{iovec{bytes.data(), bytes.size()},
                             iovec{const_cast<char *>(payload.data()), payload.size()}};
  size_t left = bytes.size() + payload.size();
  for (;;) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = payload.empty() ? 1 : 2;
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) lose(errno);
      if (wait_for(fd_.get(), POLLOUT, patience)) continue;
      // What comes after a part of a frame would be taken for the rest of it.
      if (left < bytes.size() + payload.size()) shutdown(fd_.get(), SHUT_WR);
      stall();
    }
    left -= static_cast<size_t>(sent);
    if (left == 0) return;
    size_t done = static_cast<size_t>(sent);
    for (iovec &part : parts) {
      const size_t taken = std::min(done, part.iov_len);
      part.iov_base = static_cast<char *>(part.iov_base) + taken;
      part.iov_len -= taken;
      done -= taken;
    }
  }
}

// Bytes read; 0 when there are none yet.
size_t Stream::read_some(char *to, size_t capacity) {
  for (;;) {
    const ssize_t got = recv(fd_.get(), to, capacity, MSG_DONTWAIT);
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0) lose(0);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) lose(errno);
  }
}

void Stream::read_all(char *to, size_t size, Patience &patience) {
  while (size > 0) {
    const size_t got = read_some(to, size);
    if (got == 0 && !wait_for(fd_.get(), POLLIN, patience)) stall();
    to += got;
    size -= got;
  }
}

bool Stream::receive(Frame &frame, Patience &patience, SpareBuffers &spare) {
  // One read takes the head and what follows it; a head in pieces stays ahead_ until it is whole.
  std::array<char, 4096> buffer;
  int looks = quick_looks;
  while (ahead_.size() < frame_head_size) {
    const size_t got = read_some(buffer.data(), buffer.size());
    ahead_.append(buffer.data(), got);
    if (got > 0) continue;
    if (looks-- > 0) sched_yield();
    else if (!wait_for(fd_.get(), POLLIN, patience)) return false;
  }
  frame.head = decode_head(ahead_);
  if (frame.head.is_bulk)
    throw Error(Code::corrupt, "talking to " + peer_ + ": there is no bulk over sockets");
  const size_t size = frame.head.size;
  const size_t here = std::min(size, ahead_.size() - frame_head_size);
  // What was announced may never come: memory follows what did.
  frame.payload = spare.take(std::min(size, at_once));
  std::copy_n(ahead_.begin() + frame_head_size, here, frame.payload.begin());
  ahead_.erase(0, frame_head_size + here);
  for (size_t done = here;;) {
    read_all(&frame.payload[done], frame.payload.size() - done, patience);
    done = frame.payload.size();
    if (done == size) break;
    frame.payload.resize(std::min(size, 2 * done));
  }
  return true;
}

}  // namespace det
