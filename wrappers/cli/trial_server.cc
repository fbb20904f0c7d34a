#include "trial_server.h"

#include <sys/socket.h>

#include "core/base/thread.h"

namespace det::cli {

void TrialServer::serve() {
  conversations_.remove_if([](Conversation &it) {
    if (it.is_over) it.thread.join();
    return it.is_over.load();
  });
  Fd connection = listener_.accept();
  if (!connection) return;
  Conversation &it = conversations_.emplace_back(std::move(connection));
  try {
    it.thread = start_thread("det-script", [this, &it] {
      if (const Json request = receive(it.connection); !request.is_null())
        send_last(it.connection, holder_.answer(request));
      shutdown(it.connection.get(), SHUT_RDWR);
      it.is_over = true;
    });
  } catch (...) {
    conversations_.pop_back();  // whoever asked is told that there is no answer
  }
}

TrialServer::~TrialServer() {
  for (Conversation &it : conversations_) {
    shutdown(it.connection.get(), SHUT_RD);  // who has not asked yet is too late
    it.thread.join();
  }
}

}  // namespace det::cli
