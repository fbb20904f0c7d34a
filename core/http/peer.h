#pragma once

#include <string>

namespace det::http {

// Who is asked, for messages.
struct Peer {
  std::string name = "the master";
  // What to do where it cannot prove who it is.
  std::string trust_remedy =
      "give the master's certificate in DET_MASTER_CERT_FILE or with `det login --cert FILE`, and "
      "the name in it in DET_MASTER_CERT_NAME where it is not the host's";
};

}  // namespace det::http
