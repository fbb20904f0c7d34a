// Between `det trial`, which holds a trial, and the short commands of its script: a request and its
// answer over a Unix socket, each with the end of what its side sends.
#pragma once

#include <string>

#include "core/base/file.h"
#include "wrappers/cli/library_client.h"

namespace det::cli {

// Names the socket in the environment of the script.
inline constexpr const char *trial_socket_variable = "DET_TRIAL_SOCKET";

// Where the commands of a script are heard.
class TrialListener {
 public:
  TrialListener();

  const std::string &name() const { return name_; }
  int fd() const { return socket_.get(); }  // to be polled

  // The next one that connects; no Fd where nobody does any more, or a stranger did.
  Fd accept() const;

 private:
  std::string name_;
  Fd socket_;
};

// All that the other side sends, until it has no more to say. Null where it went before, or sends
// what is no message.
Json receive(const Fd &connection);

// With the end of what this side says. Does nothing where the other one has gone.
void send_last(const Fd &connection, const Json &message);

// What the holder of this script's trial answers. Throws Failure or Ended, as it says, and where
// there is no holder.
Json ask_trial(const Json &request);

}  // namespace det::cli
