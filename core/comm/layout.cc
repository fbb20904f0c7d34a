#include "core/comm/layout.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/comm/numbers.h"

namespace det {

namespace {

constexpr size_t numbers_size = 6 * sizeof(int32_t);

std::string encode_texts(const std::string &address, const std::string &memory) {
  return address + '\0' + memory;
}

// Address and memory; a text without a NUL is an address.
std::pair<std::string, std::string> decode_texts(const std::string &texts) {
  const size_t end = std::min(texts.find('\0'), texts.size());
  return {texts.substr(0, end), texts.substr(std::min(end + 1, texts.size()))};
}

[[noreturn]] void refuse_introduction(size_t rank) {
  throw Error(Code::corrupt, "joining a job: rank " + std::to_string(rank) +
                                 " says nothing sensible of itself; make sure that all ranks use "
                                 "the same release of detcore");
}

Introduction decode_introduction(const Message &message, size_t rank) {
  if (!message || message->size() < numbers_size) refuse_introduction(rank);
  std::array<int32_t, 6> n;
  for (size_t i = 0; i < n.size(); ++i)
    n[i] = take_number<int32_t>(&(*message)[i * sizeof(int32_t)]);
  auto [address, memory] = decode_texts(message->substr(numbers_size));
  return {{n[0], n[1], n[2], n[3], n[4], n[5]}, std::move(address), std::move(memory)};
}

[[noreturn]] void contradict(int rank, int other, const std::string &what) {
  throw Error(Code::invalid, "joining a job: ranks " + std::to_string(rank) + " and " +
                                 std::to_string(other) + " contradict each other: " + what +
                                 "; check the numbers that the launcher gave them");
}

constexpr int nobody = -1;

// The ranks of each machine by local rank, and by the machine's number.
using Seats = std::map<int, std::vector<int>>;

void take_seat(const std::vector<Introduction> &all, const Ranks &mine, Seats &seats) {
  std::vector<int> &machine = seats[mine.cross_rank];
  if (machine.empty()) machine.assign(static_cast<size_t>(mine.local_size), nobody);
  if (machine.size() != static_cast<size_t>(mine.local_size)) {
    size_t other = 0;
    while (all[other].ranks.cross_rank != mine.cross_rank) ++other;
    contradict(static_cast<int>(other), mine.rank, "one machine, but their local_sizes differ");
  }
  int &seat = machine[static_cast<size_t>(mine.local_rank)];
  if (seat != nobody) contradict(seat, mine.rank, "one machine, but they have the same local_rank");
  seat = mine.rank;
}

void check_complete(const std::vector<Introduction> &all, const Seats &seats) {
  for (const auto &[number, machine] : seats) {
    size_t here = 0;
    int one = nobody;
    for (const int rank : machine) {
      if (rank == nobody) continue;
      ++here;
      one = rank;
    }
    if (here == machine.size()) continue;
    throw Error(Code::invalid, "joining a job: rank " + std::to_string(one) +
                                   " says that its machine has " +
                                   std::to_string(all[static_cast<size_t>(one)].ranks.local_size) +
                                   " ranks, but " + std::to_string(here) + " have cross_rank " +
                                   std::to_string(number));
  }
}

Seats check_layout(const std::vector<Introduction> &all) {
  Seats seats;
  const Ranks &chief = all.front().ranks;
  for (size_t i = 0; i < all.size(); ++i) {
    const Ranks &mine = all[i].ranks;
    const auto rank = static_cast<int>(i);
    check_ranks(mine);
    if (mine.rank != rank) contradict(rank, mine.rank, "both have the same rank");
    if (mine.size != chief.size) contradict(0, rank, "their sizes differ");
    if (mine.cross_size != chief.cross_size) contradict(0, rank, "their cross_sizes differ");
    take_seat(all, mine, seats);
  }
  check_complete(all, seats);
  return seats;
}

std::string encode_machine(const std::vector<int> &members, const Introduction &local_chief) {
  std::string bytes(members.size() * sizeof(int32_t), '\0');
  for (size_t i = 0; i < members.size(); ++i)
    put_number(&bytes[i * sizeof(int32_t)], int32_t{members[i]});
  return bytes + encode_texts(local_chief.local_address, local_chief.memory);
}

}  // namespace

std::string encode(const Introduction &introduction) {
  const Ranks &r = introduction.ranks;
  std::string bytes(numbers_size, '\0');
  size_t at = 0;
  for (const int32_t number :
       {r.rank, r.size, r.local_rank, r.local_size, r.cross_rank, r.cross_size}) {
    put_number(&bytes[at], number);
    at += sizeof number;
  }
  return bytes + encode_texts(introduction.local_address, introduction.memory);
}

std::vector<std::string> answer_introductions(const std::vector<Message> &introductions) {
  std::vector<Introduction> all;
  all.reserve(introductions.size());
  for (const Message &message : introductions)
    all.push_back(decode_introduction(message, all.size()));
  std::map<int, std::string> answers;
  for (const auto &[number, machine] : check_layout(all)) {
    const auto local_chief = static_cast<size_t>(machine.front());
    answers[number] = encode_machine(machine, all[local_chief]);
  }
  std::vector<std::string> by_rank;
  by_rank.reserve(all.size());
  for (const Introduction &each : all) by_rank.emplace_back(answers[each.ranks.cross_rank]);
  return by_rank;
}

Machine decode_machine(const std::string &answer, const Ranks &ranks) {
  const size_t size = static_cast<size_t>(ranks.local_size) * sizeof(int32_t);
  if (answer.size() < size) refuse_introduction(0);
  Machine machine;
  for (size_t at = 0; at < size; at += sizeof(int32_t)) {
    machine.members.push_back(take_number<int32_t>(&answer[at]));
    if (machine.members.back() < 0 || machine.members.back() >= ranks.size) refuse_introduction(0);
  }
  std::tie(machine.address, machine.memory) = decode_texts(answer.substr(size));
  return machine;
}

}  // namespace det
