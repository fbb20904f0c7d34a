#include "core/comm/apply.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/comm/stream.h"

namespace det::comm {

namespace {

constexpr std::chrono::milliseconds retry_pause(20);

// Reads until `size` bytes are there; false when the other side is gone or silent.
bool receive_whole(const UnsharedFd &fd, std::string &bytes, size_t size, Patience &patience) {
  bytes.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t got = recv(fd.get(), &bytes[done], size - done, 0);
    if (got > 0) {
      done += static_cast<size_t>(got);
      continue;
    }
    const bool may_come = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (!may_come || !wait_for(fd.get(), POLLIN, patience)) return false;
  }
  return true;
}

}  // namespace

Admission apply_at(Endpoint endpoint, const Hello &mine, const std::string &secret,
                   Patience &patience) {
  for (int number = 0;;) {
    UnsharedFd fd = connect_to(endpoint, patience);
    if (!is_own_peer(fd, endpoint.kind))
      throw Error(Code::access, "joining a job: what listens at '" + endpoint.text() +
                                    "' belongs to another user; set another port (pub_port or "
                                    "INTER_TRAIN_PROCESS_COMM_PORT_1)");
    std::string challenge, reply;
    // The chief of an earlier job may just have closed its door, or this one may have taken a rank
    // that was stopped for a stranger.
    Applicant applicant(mine, secret);
    const bool challenged = receive_whole(fd, challenge, challenge_size, patience);
    // A refusal may be here although nobody takes the answer any more.
    if (challenged) send_whole(fd, applicant.answer(challenge));
    if (challenged && receive_whole(fd, reply, welcome_size, patience)) {
      const std::optional<Notice> notice = read_notice(reply);
      if (!notice) {
        const Welcome welcome = applicant.judge(reply);
        return {std::move(fd), {welcome.rank, number == 0 ? welcome.number : number}};
      }
      std::string text;
      const bool is_whole = receive_whole(fd, text, notice->text_size, patience);
      if (notice->is_refusal) throw Error(code_from(notice->number), text);
      if (is_whole) {
        endpoint = parse_endpoint(text);
        number = notice->number;
        continue;
      }
    }
    std::this_thread::sleep_for(retry_pause);
    if (patience.left().count() == 0)
      throw Error(Code::timeout, "joining a job: '" + endpoint.text() +
                                     "' takes connections but does not say in time whether this "
                                     "process belongs to the job; see what rank 0 is doing");
  }
}

}  // namespace det::comm
