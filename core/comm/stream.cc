#include "core/comm/stream.h"

#include <poll.h>
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
// An answer that comes at once is there before a core that went to sleep would be awake again. The
// core is not offered to others meanwhile: on a busy machine it would come back much later.
constexpr int quick_looks = 10;

}  // namespace

short wait_for(int fd, short events, Patience &patience) {
  for (;;) {
    const auto left = patience.left().count();
    pollfd waiting{fd, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, 1'000'000)));
    if (ready > 0) return waiting.revents;
    if (ready < 0 && errno != EINTR) OsFailure{errno}.raise("waiting for another rank");
    if (ready == 0 && left <= 1'000'000) return 0;
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

void Stream::check_peer() const {
  pollfd connection{fd_.get(), POLLRDHUP, 0};
  if (poll(&connection, 1, 0) > 0) lose(0);
}

// Whether the peer, instead of reading what is sent with `head`, says what it would not say in that
// collective: two that send each other more than the kernel holds would both wait for ever.
bool Stream::peer_interrupts(const FrameHead &head) {
  if (not_taken_ > 0 || (ahead_.size() < frame_head_size && !read_ahead())) return false;
  if (ahead_.size() < frame_head_size) return false;
  const FrameHead theirs = decode_head(ahead_);
  if (theirs.kind == FrameKind::abort || theirs.kind == FrameKind::leave) return true;
  return theirs.kind == FrameKind::call &&
         (theirs.sequence != head.sequence || theirs.collective != head.collective ||
          theirs.api != head.api || theirs.digest != head.digest);
}

bool Stream::send(const FrameHead &head, std::string_view payload, Patience &patience) {
  std::array<char, frame_head_size> bytes;
  encode_head(head, bytes.data());
  std::array<iovec, 2> parts{iovec{bytes.data(), bytes.size()},
                             iovec{const_cast<char *>(payload.data()), payload.size()}};
  size_t left = bytes.size() + payload.size();
  short events = POLLOUT | POLLIN;
  for (;;) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = payload.empty() ? 1 : 2;
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) lose(errno);
      const short ready = wait_for(fd_.get(), events, patience);
      if ((ready & POLLOUT) != 0) continue;
      const bool interrupted = (ready & POLLIN) != 0 && peer_interrupts(head);
      // What is ahead is not looked at twice.
      if (ahead_.size() >= frame_head_size || not_taken_ > 0) events = POLLOUT;
      if (ready != 0 && !interrupted) continue;
      // What comes after a part of a frame would be taken for the rest of it.
      if (left < bytes.size() + payload.size()) shutdown(fd_.get(), SHUT_WR);
      if (interrupted) return false;
      stall();
    }
    left -= static_cast<size_t>(sent);
    if (left == 0) return true;
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

// One read takes a head and what follows it; a head in pieces stays ahead_ until it is whole.
bool Stream::read_ahead() {
  std::array<char, 4096> buffer;
  const size_t got = read_some(buffer.data(), buffer.size());
  ahead_.append(buffer.data(), got);
  return got > 0;
}

bool Stream::read_all(char *to, size_t size, Patience &patience) {
  const size_t here = std::min(size, ahead_.size());
  std::copy_n(ahead_.begin(), here, to);
  ahead_.erase(0, here);
  for (size_t done = here; done < size;) {
    const size_t got = read_some(to + done, size - done);
    if (got == 0 && wait_for(fd_.get(), POLLIN, patience) == 0) return false;
    done += got;
  }
  return true;
}

bool Stream::skip_payload(Patience &patience) {
  std::array<char, 4096> buffer;
  while (not_taken_ > 0) {
    size_t got = std::min<uint64_t>(not_taken_, ahead_.size());
    if (got > 0) ahead_.erase(0, got);
    else got = read_some(buffer.data(), std::min<uint64_t>(not_taken_, buffer.size()));
    if (got == 0 && wait_for(fd_.get(), POLLIN, patience) == 0) return false;
    not_taken_ -= got;
  }
  return true;
}

bool Stream::receive_head(FrameHead &head, Patience &patience) {
  if (!skip_payload(patience)) return false;
  int looks = quick_looks;
  while (ahead_.size() < frame_head_size)
    if (!read_ahead() && looks-- <= 0 && wait_for(fd_.get(), POLLIN, patience) == 0) return false;
  head = decode_head(ahead_);
  ahead_.erase(0, frame_head_size);
  if (head.is_bulk)
    throw Error(Code::corrupt, "talking to " + peer_ + ": there is no bulk over sockets");
  not_taken_ = head.size;
  return true;
}

std::string Stream::receive_payload(const FrameHead &head, Patience &patience,
                                    SpareBuffers &spare) {
  const size_t size = head.size;
  // What was announced may never come: memory follows what did.
  std::string payload = spare.take(std::min(size, at_once));
  for (size_t done = 0;;) {
    if (!read_all(&payload[done], payload.size() - done, patience)) stall();
    not_taken_ -= payload.size() - done;
    done = payload.size();
    if (done == size) return payload;
    payload.resize(std::min(size, 2 * done));
  }
}

}  // namespace det
