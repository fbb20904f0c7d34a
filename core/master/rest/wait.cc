#include "core/master/rest/wait.h"

#include <poll.h>

#include <algorithm>

namespace det::master {

bool wait_until(std::chrono::steady_clock::time_point then, const Wake &wake) {
  for (;;) {
    const auto left =
        std::clamp<std::chrono::nanoseconds>(then - std::chrono::steady_clock::now(),
                                             std::chrono::nanoseconds{0}, std::chrono::hours{1});
    pollfd waiting{wake.fd(), POLLIN, 0};
    const int ready = ::poll(
        &waiting, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
    if (ready > 0) return true;
    if (ready == 0 && std::chrono::steady_clock::now() >= then) return false;
  }
}

}  // namespace det::master
