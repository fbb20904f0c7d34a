#include "core/comm/joined.h"

#include <algorithm>
#include <numeric>

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/fork_guard.h"
#include "core/base/json.h"
#include "core/comm/group.h"

namespace det {

namespace {

// What a rank says of itself while joining.
struct Introduction {
  Ranks ranks;
  std::string local_address;
};

std::string encode(const Introduction &introduction) {
  const Ranks &r = introduction.ranks;
  return to_wire(Json{{"rank", r.rank},
                      {"size", r.size},
                      {"local_rank", r.local_rank},
                      {"local_size", r.local_size},
                      {"cross_rank", r.cross_rank},
                      {"cross_size", r.cross_size},
                      {"address", introduction.local_address}});
}

Introduction decode(const Message &message, size_t rank) {
  const std::string whose = "what rank " + std::to_string(rank) + " says of itself";
  const Json said = parse_json_object(message.value_or("{}"), whose);
  const auto number = [&](const char *name) { return said.value(name, -1); };
  return {{number("rank"), number("size"), number("local_rank"), number("local_size"),
           number("cross_rank"), number("cross_size")},
          said.value("address", std::string())};
}

[[noreturn]] void contradict(int rank, int other, const std::string &what) {
  throw Error(Code::invalid, "joining a job: ranks " + std::to_string(rank) + " and " +
                                 std::to_string(other) + " contradict each other: " + what +
                                 "; check the numbers that the launcher gave them");
}

// The ranks of every machine are numbered 0 to local_size - 1, each once.
void check_layout(const std::vector<Introduction> &all) {
  for (size_t i = 0; i < all.size(); ++i) {
    const Ranks &mine = all[i].ranks;
    check_ranks(mine);
    if (mine.rank != static_cast<int>(i))
      contradict(static_cast<int>(i), mine.rank, "both have the same rank");
    int on_machine = 0;
    for (const Introduction &other : all) {
      const Ranks &theirs = other.ranks;
      if (theirs.size != mine.size) contradict(mine.rank, theirs.rank, "their sizes differ");
      if (theirs.cross_size != mine.cross_size)
        contradict(mine.rank, theirs.rank, "their cross_sizes differ");
      if (theirs.cross_rank != mine.cross_rank) continue;
      ++on_machine;
      if (theirs.local_size != mine.local_size)
        contradict(mine.rank, theirs.rank, "one machine, but their local_sizes differ");
      if (theirs.local_rank == mine.local_rank && theirs.rank != mine.rank)
        contradict(mine.rank, theirs.rank, "one machine, but they have the same local_rank");
    }
    if (on_machine != mine.local_size)
      throw Error(Code::invalid, "joining a job: rank " + std::to_string(mine.rank) +
                                     " says that its machine has " +
                                     std::to_string(mine.local_size) + " ranks, but " +
                                     std::to_string(on_machine) + " have cross_rank " +
                                     std::to_string(mine.cross_rank));
  }
}

std::vector<int> everybody(int size) {
  std::vector<int> members(static_cast<size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

std::vector<int> ranks_on_machine(const std::vector<Introduction> &all, const Ranks &mine) {
  std::vector<int> members(static_cast<size_t>(mine.local_size));
  for (const Introduction &other : all)
    if (other.ranks.cross_rank == mine.cross_rank)
      members[static_cast<size_t>(other.ranks.local_rank)] = other.ranks.rank;
  return members;
}

class Joined : public Communicator {
 public:
  Joined(const Ranks &ranks, std::unique_ptr<Transport> transport,
         std::chrono::milliseconds timeout)
      : Communicator(ranks),
        transport_(std::move(transport)),
        global_(*transport_, Channel::global, everybody(ranks.size), ranks.rank, timeout,
                failure_) {
    const std::string introduction = encode({ranks, transport_->local_address()});
    std::vector<Introduction> all;
    for (const Message &message : global_.allgather(introduction))
      all.push_back(decode(message, all.size()));
    check_layout(all);
    const std::vector<int> members = ranks_on_machine(all, ranks);
    Patience patience(timeout);
    transport_->open_local(members, all[static_cast<size_t>(members.front())].local_address,
                           patience);
    local_.emplace(*transport_, Channel::local, members, ranks.rank, timeout, failure_);
    // Nobody goes on before everybody can.
    global_.allgather(std::nullopt);
  }

  ~Joined() override {
    if (fork_guard_.in_child()) {
      static_cast<void>(transport_.release());  // the connections are the parent's
      return;
    }
    if (local_) local_->leave();
    global_.leave();
  }

  std::optional<std::vector<Message>> gather(const MessageView &message) override {
    return here(global_).gather(message);
  }
  std::vector<Message> allgather(const MessageView &message) override {
    return here(global_).allgather(message);
  }
  Message broadcast(const MessageView &message) override {
    return here(global_).broadcast(message);
  }
  std::optional<std::vector<Message>> gather_local(const MessageView &message) override {
    return here(*local_).gather(message);
  }
  std::vector<Message> allgather_local(const MessageView &message) override {
    return here(*local_).allgather(message);
  }
  Message broadcast_local(const MessageView &message) override {
    return here(*local_).broadcast(message);
  }

  std::shared_ptr<SpareBuffers> spare_buffers() const override { return transport_->spare(); }

 private:
  Group &here(Group &group) const {
    if (fork_guard_.in_child())
      throw Error(Code::state,
                  "calling a collective in a forked child: the job belongs to the parent");
    return group;
  }

  const ForkGuard fork_guard_;
  std::unique_ptr<Transport> transport_;
  JobFailure failure_;
  Group global_;
  std::optional<Group> local_;
};

}  // namespace

std::chrono::milliseconds default_join_timeout() {
  const int64_t seconds = environment_integer("DET_DISTRIBUTED_TIMEOUT").value_or(600);
  if (seconds < 1 || seconds > 1'000'000)
    throw Error(Code::invalid,
                "reading the variable DET_DISTRIBUTED_TIMEOUT=" + std::to_string(seconds) +
                    ": expected seconds, from 1 to 1000000");
  return std::chrono::seconds(seconds);
}

std::unique_ptr<Communicator> make_joined_communicator(const Ranks &ranks,
                                                       std::unique_ptr<Transport> transport,
                                                       std::chrono::milliseconds timeout) {
  return std::make_unique<Joined>(ranks, std::move(transport), timeout);
}

}  // namespace det
