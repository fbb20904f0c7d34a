// Any bytes from a connection, or from a launcher's variables: taken for what they are, or refused.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "core/base/error.h"
#include "core/comm/join/endpoint.h"
#include "core/comm/join/handshake.h"
#include "core/comm/join/slurm.h"
#include "core/comm/stream.h"

namespace {

using namespace det;

// Runs `parse`; what it throws must be a refusal.
template <class Parse>
void take(Parse parse) {
  try {
    parse();
  } catch (const Error &e) {
    if (e.code != Code::corrupt && e.code != Code::invalid && e.code != Code::access &&
        e.code != Code::unavailable && e.code != Code::timeout)
      std::abort();
  }
}

// The other side sends `bytes` and is gone.
void receive_from(std::string_view bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  const int room = 1 << 20;
  setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  (void)!send(ends[1], bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  close(ends[1]);
  comm::Stream stream{UnsharedFd(Fd(ends[0])), "rank 1", std::make_shared<comm::SpareBuffers>()};
  for (;;) {
    comm::FrameHead head;
    comm::Patience patience(std::chrono::milliseconds(0));
    if (!stream.receive_head(comm::Channel::global, head, patience)) return;
    if (stream.receive_payload(comm::Channel::global, patience).size() != head.size) std::abort();
    std::string once(comm::frame_head_size, '\0');
    std::string again = once;
    comm::encode_head(head, once.data());
    comm::encode_head(comm::decode_head(once), again.data());
    if (once != again) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  take([&] { receive_from(text); });
  take([&] { comm::decode_messages(text); });
  take([&] { comm::read_notice(text); });
  const std::string challenge(comm::challenge_size, 'c');
  if (comm::verify_hello(challenge, text, "a secret that no input knows")) std::abort();
  take([&] { comm::Applicant({}, "secret").answer(text); });
  take([&] {
    comm::Applicant applicant({}, "secret");
    applicant.answer(comm::make_challenge());
    applicant.judge(text);
    std::abort();  // nobody can know what proves it
  });
  take([&] { comm::parse_endpoint(text); });
  take([&] { comm::parse_tasks_per_node(text); });
  take([&] { comm::first_host(text); });
  return 0;
}
