#include "core/master/rest/wait.h"

#include <algorithm>

namespace det::master {

bool wait_until(std::chrono::steady_clock::time_point then, const Wake &wake) {
  for (;;) {
    const auto left =
        std::clamp<std::chrono::nanoseconds>(then - std::chrono::steady_clock::now(),
                                             std::chrono::nanoseconds{0}, std::chrono::hours{1});
    if (wake.poll(std::chrono::ceil<std::chrono::milliseconds>(left))) return true;
    if (std::chrono::steady_clock::now() >= then) return false;
  }
}

}  // namespace det::master
