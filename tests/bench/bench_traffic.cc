// What joining a job over sockets, and each collective of messages of 8 bytes, costs in messages
// and bytes: counted, for jobs that no machine here could hold. tests/comm/test_traffic.cc shows
// that ranks send what is counted.
#include <cstdio>

#include "tests/comm/traffic.h"

using namespace det::test;

namespace {

Load most_of(const std::vector<Load> &loads) {
  Load most;
  for (const Load &load : loads) {
    most.messages = std::max(most.messages, load.messages);
    most.bytes = std::max(most.bytes, load.bytes);
  }
  return most;
}

void print(const Plan &plan, const char *name, std::initializer_list<Step> parts) {
  std::vector<Load> loads(plan.size());
  for (const Step part : parts) {
    const std::vector<Load> more = plan.loads(part, 8);
    for (size_t i = 0; i < loads.size(); ++i) {
      loads[i].messages += more[i].messages;
      loads[i].bytes += more[i].bytes;
    }
  }
  Load all;
  for (const Load &load : loads) {
    all.messages += load.messages;
    all.bytes += load.bytes;
  }
  const Load chief = loads.front(), other = most_of({loads.begin() + 1, loads.end()});
  std::printf("| %6zu | %4d | %-9s | %6zu | %9zu | %6zu | %9zu | %7zu | %11zu |\n", plan.size(),
              plan.machines(), name, chief.messages, chief.bytes, other.messages, other.bytes,
              all.messages / 2, all.bytes / 2);
}

}  // namespace

int main() {
  std::printf(
      "| ranks | machines | | chief: messages | bytes | another: messages | bytes | all: "
      "messages | bytes |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const auto &[machines, per_machine] :
       {std::pair(1, 1024), std::pair(16, 64), std::pair(128, 8), std::pair(2048, 8)}) {
    const Plan plan(machines, per_machine);
    print(plan, "join", {Step::handshake, Step::join});
    print(plan, "gather", {Step::gather});
    print(plan, "allgather", {Step::allgather});
    print(plan, "broadcast", {Step::broadcast});
    size_t most = 0;
    for (int rank = 0; rank < static_cast<int>(plan.size()); ++rank)
      most = std::max(most, plan.connections(rank));
    std::printf("| %6zu | %4d | connections: %zu at the chief, at most %zu elsewhere\n",
                plan.size(), machines, plan.connections(0), most);
  }
  return 0;
}
