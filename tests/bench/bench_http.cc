// Reports drained over HTTP with so many under way at a time: bench_http URL WINDOW... prints a
// line for each window: window, requests a second.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>

#include "core/http/http_client.h"

namespace {

using namespace det;
using std::chrono::steady_clock;

constexpr std::chrono::seconds measured{2};

http::HttpRequest report(const std::string &url, size_t step) {
  return {.method = "POST",
          .url = url + "/api/v1/trials/7/metrics",
          .headers = {{"Authorization", "Bearer v2.public.token"},
                      {"Content-Type", "application/json"}},
          .body = R"({"group":"training","metrics":{"trialId":7,"trialRunId":1,"stepsCompleted":)" +
                  std::to_string(step) +
                  R"(,"reportTime":null,"metrics":{"avgMetrics":{"loss":0.6931471805599453,)"
                  R"("accuracy":0.5128,"learning_rate":0.001,"gradient_norm":2.000123},)"
                  R"("batchMetrics":null}}})"};
}

double drained(http::HttpClient &client, const std::string &url, size_t window) {
  std::deque<http::HttpCall> under_way;
  size_t done = 0;
  const auto begin = steady_clock::now();
  while (steady_clock::now() < begin + measured || !under_way.empty()) {
    while (under_way.size() < window && steady_clock::now() < begin + measured)
      under_way.push_back(client.send(report(url, done + under_way.size())));
    if (under_way.empty()) break;
    if (under_way.front().wait().status != 200) std::exit(1);
    under_way.pop_front();
    ++done;
  }
  return static_cast<double>(done) /
         std::chrono::duration<double>(steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char **argv) {
  http::HttpClient client({}, std::make_shared<Logger>());
  for (int i = 2; i < argc; ++i)
    std::printf("%s %.0f\n", argv[i], drained(client, argv[1], std::strtoul(argv[i], nullptr, 10)));
  return 0;
}
