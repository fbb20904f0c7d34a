#include "core/comm/joined.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/base/process/fork_guard.h"
#include "core/comm/cores.h"
#include "core/comm/group.h"
#include "core/comm/join/layout.h"
#include "core/comm/mailbox_group.h"
#include "core/comm/shared_memory.h"

namespace det::comm {

namespace {

constexpr Call joining{ApiCall::join};

std::vector<int> everybody(int size) {
  std::vector<int> members(static_cast<size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

// How far the ranks of a machine can go without a transport; what one of them cannot, none does.
constexpr char no_memory = '0', shared_memory = '1', readable_memory = '2';
constexpr char own_cores = 'c';

// What comes of the votes, which are followed by the cores of a rank.
struct Verdict {
  char memory = no_memory;
  bool has_own_cores = false;
};

std::vector<Message> decide(const std::vector<Message> &votes) {
  const std::string least = std::ranges::min_element(votes)->value_or("");
  std::vector<std::string> cores;
  for (const Message &vote : votes)
    cores.push_back(vote && !vote->empty() ? vote->substr(1) : std::string());
  std::string verdict(1, least.empty() ? no_memory : least.front());
  if (verdict.front() != no_memory && has_core_for_each(cores)) verdict += own_cores;
  return std::vector<Message>(votes.size(), verdict);
}

Verdict verdict_in(const std::string &answer) {
  if (answer.empty()) return {};
  return {answer.front(), answer.back() == own_cores};
}

class TransportListener : public FailureListener {
 public:
  explicit TransportListener(Transport &transport) : transport_(transport) {}
  void tell(const Error &) noexcept override { transport_.give_up(); }

 private:
  Transport &transport_;
};

class Joined : public Communicator {
 public:
  Joined(const Ranks &ranks, std::unique_ptr<Transport> transport,
         std::chrono::milliseconds timeout)
      : Communicator(ranks),
        transport_(std::move(transport)),
        timeout_(timeout),
        global_(*transport_, Channel::global, everybody(ranks.size), ranks.rank, timeout,
                failure_) {
    failure_.add(transport_listener_);
    SharedMemory memory;
    if (may_share() && is_local_chief()) memory = SharedMemory::create(memory_size());
    const std::string known = memory.name();
    Introduction introduction{ranks};
    if (memory) introduction.memory = known + " " + invite_to_read(known);
    const Machine machine =
        decode_machine(global_.consult(encode(introduction), joining, answer_introductions), ranks);
    local_.emplace(*transport_, Channel::local, machine.members, ranks.rank, timeout_, failure_);
    local_->know(global_);
    global_.finder().know_machine(machine.members, nullptr);
    Verdict verdict;
    const auto hide_and_answer = [&memory](const std::vector<Message> &messages) {
      memory.hide();  // all have opened it, and nobody goes on while a kill would leave its name
      return decide(messages);
    };
    if (ranks.local_size > 1)
      verdict = verdict_in(local_->consult(open_memory(machine, memory), joining, hide_and_answer));
    // Nobody goes on before everybody can.
    if (!is_one_machine()) global_.gather(std::nullopt, joining);
    if (verdict.memory >= shared_memory) meet_in_memory(std::move(memory), machine, verdict);
  }

  ~Joined() override {
    if (fork_guard_.in_child()) {
      static_cast<void>(transport_.release());  // the connections are the parent's
      return;
    }
    if (mailboxes_) mailboxes_->quit();
    if (local_ && !local_mailboxes_) local_->leave();
    if (!global_mailboxes_) global_.leave();
  }

  std::optional<std::vector<Message>> gather(const MessageView &message,
                                             const Call &call) override {
    check_process();
    return global_mailboxes_ ? global_mailboxes_->gather(message, call)
                             : global_.gather(message, call);
  }
  std::vector<Message> allgather(const MessageView &message, const Call &call) override {
    check_process();
    return global_mailboxes_ ? global_mailboxes_->allgather(message, call)
                             : global_.allgather(message, call);
  }
  Message broadcast(const MessageView &message, const Call &call) override {
    check_process();
    return global_mailboxes_ ? global_mailboxes_->broadcast(message, call)
                             : global_.broadcast(message, call);
  }
  std::optional<std::vector<Message>> gather_local(const MessageView &message,
                                                   const Call &call) override {
    check_process();
    return local_mailboxes_ ? local_mailboxes_->gather(message, call)
                            : local_->gather(message, call);
  }
  std::vector<Message> allgather_local(const MessageView &message, const Call &call) override {
    check_process();
    return local_mailboxes_ ? local_mailboxes_->allgather(message, call)
                            : local_->allgather(message, call);
  }
  Message broadcast_local(const MessageView &message, const Call &call) override {
    check_process();
    return local_mailboxes_ ? local_mailboxes_->broadcast(message, call)
                            : local_->broadcast(message, call);
  }

  void ask_while_waiting(std::function<bool()> goes_on) override {
    failure_.set_question(std::move(goes_on));
  }

  bool shares_memory() const override { return mailboxes_.has_value(); }
  bool can_sum() const override { return transport_->can_sum(); }
  void start_sum(char *data, size_t count, int dtype) override {
    check_process();
    failure_.check();
    or_fail([&] { transport_->start_sum(data, count, dtype); });
  }
  void finish_sums() override {
    await("summing over ranks", [this](std::chrono::milliseconds limit) {
      Patience for_a_while(limit);
      return transport_->finish_sums(for_a_while);
    });
  }
  void await(const std::string &doing, const IsDone &is_done) override {
    check_process();
    or_fail([&] { wait_in_pieces(doing, is_done); });
  }

  std::shared_ptr<SpareBuffers> spare_buffers() const override { return transport_->spare(); }

 private:
  template <class Work>
  void or_fail(const Work &work) {
    try {
      work();
    } catch (const Error &error) {
      failure_.note(error);
      throw;
    }
  }

  // So that what failed elsewhere, and the host, can end it.
  void wait_in_pieces(const std::string &doing, const IsDone &is_done) {
    constexpr std::chrono::milliseconds piece{250};
    const auto end = std::chrono::steady_clock::now() + timeout_;
    for (;;) {
      if (is_done(std::min(piece, timeout_))) return;
      failure_.check();
      if (const std::optional<Error> failure = mailboxes_ ? mailboxes_->failure() : std::nullopt)
        throw Error(*failure);
      if (failure_.is_to_stop()) throw Error(Code::callback, doing + ": stopped by the host");
      if (std::chrono::steady_clock::now() >= end)
        throw Error(Code::timeout, doing + ": not all ranks took part in " +
                                       std::to_string(timeout_.count()) +
                                       " ms; see what they are doing");
    }
  }

  void check_process() const {
    if (fork_guard_.in_child())
      throw Error(Code::state,
                  "calling a collective in a forked child: the job belongs to the parent");
  }

  bool may_share() const { return ranks().local_size > 1 && transport_->shares_memory(); }
  size_t memory_size() const {
    return Mailboxes::size_for(static_cast<size_t>(ranks().local_size));
  }

  bool is_one_machine() const { return ranks().local_size == ranks().size; }

  // Maps what the local chief shares; gives this rank's vote.
  std::string open_memory(const Machine &machine, SharedMemory &memory) const {
    const size_t end = std::min(machine.memory.find(' '), machine.memory.size());
    const std::string name = machine.memory.substr(0, end);
    if (may_share() && !memory && !name.empty()) memory = SharedMemory::open(name, memory_size());
    if (!memory) return {no_memory};
    const bool readable = can_read(machine.memory.substr(end), name);
    return (readable ? readable_memory : shared_memory) + cores_of_this_process();
  }

  void meet_in_memory(SharedMemory memory, const Machine &machine, const Verdict &verdict) {
    mailboxes_.emplace(std::move(memory), machine.members.size(),
                       static_cast<size_t>(ranks().local_rank));
    mailbox_listener_.emplace(*mailboxes_);
    failure_.add(*mailbox_listener_);
    std::vector<size_t> seats(machine.members.size());
    std::iota(seats.begin(), seats.end(), size_t{0});
    const bool readable = verdict.memory == readable_memory;
    open_mailboxes(local_mailboxes_, Channel::local, machine, seats, verdict,
                   readable ? nullptr : &*local_);
    if (!is_one_machine()) return global_.finder().know_machine(machine.members, &*mailboxes_);
    std::ranges::sort(seats, {}, [&](size_t seat) { return machine.members[seat]; });
    open_mailboxes(global_mailboxes_, Channel::global, machine, seats, verdict,
                   readable ? nullptr : &global_);
  }

  void open_mailboxes(std::optional<MailboxGroup> &group, Channel channel, const Machine &machine,
                      const std::vector<size_t> &order, const Verdict &verdict, Group *far) {
    group.emplace(MailboxGroup::Place{*mailboxes_, *transport_, channel, machine.members, order,
                                      timeout_, failure_, verdict.has_own_cores},
                  far);
  }

  const ForkGuard fork_guard_;
  std::unique_ptr<Transport> transport_;
  const std::chrono::milliseconds timeout_;
  JobFailure failure_;
  TransportListener transport_listener_{*transport_};
  Group global_;
  std::optional<Group> local_;
  // Where memory is shared: by the ranks of this machine, and by all where those are all.
  std::optional<Mailboxes> mailboxes_;
  std::optional<MailboxListener> mailbox_listener_;
  std::optional<MailboxGroup> local_mailboxes_, global_mailboxes_;
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

}  // namespace det::comm
