#include "core/comm/join/layout.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/comm/numbers.h"

namespace det::comm {

namespace {

constexpr size_t numbers_size = 6 * sizeof(int32_t);

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
  return {{n[0], n[1], n[2], n[3], n[4], n[5]}, message->substr(numbers_size)};
}

[[noreturn]] void contradict(int rank, int other, const std::string &what) {
  throw Error(Code::invalid, "joining a job: ranks " + std::to_string(rank) + " and " +
                                 std::to_string(other) + " contradict each other: " + what +
                                 "; check the numbers that the launcher gave them");
}

using Machines = std::vector<std::vector<const Introduction *>>;

// Who says to be on each machine.
Machines find_machines(const std::vector<Introduction> &all) {
  const Ranks &chief = all.front().ranks;
  if (static_cast<size_t>(chief.size) != all.size())
    throw Error(Code::invalid, "joining a job of " + std::to_string(chief.size) +
                                   " ranks: its machines have " + std::to_string(all.size()) +
                                   " in all; check the numbers that the launcher gave them");
  std::vector<bool> is_here(all.size());
  Machines machines(all.size());
  for (const Introduction &each : all) {
    const Ranks &mine = each.ranks;
    check_ranks(mine);
    if (&each != &all.front()) compare(chief, mine);
    const auto rank = static_cast<size_t>(mine.rank);
    if (is_here[rank])
      throw Error(Code::invalid, "joining a job: two processes have the same rank, " +
                                     std::to_string(mine.rank) +
                                     "; check the numbers that the launcher gave them");
    is_here[rank] = true;
    machines[static_cast<size_t>(mine.cross_rank)].push_back(&each);
  }
  return machines;
}

void sort_machine(std::vector<const Introduction *> &machine) {
  std::ranges::stable_sort(machine, {},
                           [](const Introduction *each) { return each->ranks.local_rank; });
  for (size_t i = 1; i < machine.size(); ++i) compare(machine[i - 1]->ranks, machine[i]->ranks);
}

void check_complete(const std::vector<const Introduction *> &machine) {
  const Ranks &first = machine.front()->ranks;
  if (machine.size() == static_cast<size_t>(first.local_size)) return;
  throw Error(Code::invalid, "joining a job: rank " + std::to_string(first.rank) +
                                 " says that its machine has " + std::to_string(first.local_size) +
                                 " ranks, but " + std::to_string(machine.size()) +
                                 " have cross_rank " + std::to_string(first.cross_rank));
}

// How many numbers there are from `begin` on, each as far from the one before as the second from
// the first.
size_t length_of_run(const std::vector<int> &numbers, size_t begin) {
  size_t end = std::min(begin + 2, numbers.size());
  while (end < numbers.size() &&
         numbers[end] - numbers[end - 1] == numbers[begin + 1] - numbers[begin])
    ++end;
  return end - begin;
}

// Launchers number machine by machine or around all of them: one run, of first, step and length.
std::string encode_members(const std::vector<int> &members) {
  std::string bytes;
  for (size_t at = 0; at < members.size();) {
    const size_t length = length_of_run(members, at);
    append_number(bytes, int32_t{members[at]});
    append_number(bytes, int32_t{length > 1 ? members[at + 1] - members[at] : 0});
    append_number(bytes, static_cast<int32_t>(length));
    at += length;
  }
  return bytes;
}

constexpr size_t run_size = 3 * sizeof(int32_t);

// Takes the runs of `count` members off the front.
std::vector<int> decode_members(std::string_view &bytes, size_t count, int size) {
  std::vector<int> members;
  while (members.size() < count) {
    if (bytes.size() < run_size) refuse_introduction(0);
    int64_t rank = take_number<int32_t>(&bytes[0]);
    const int64_t step = take_number<int32_t>(&bytes[sizeof(int32_t)]);
    const auto length = take_number<uint32_t>(&bytes[2 * sizeof(int32_t)]);
    bytes.remove_prefix(run_size);
    if (length == 0 || length > count - members.size()) refuse_introduction(0);
    for (uint32_t i = 0; i < length; ++i, rank += step) {
      if (rank < 0 || rank >= size) refuse_introduction(0);
      members.push_back(static_cast<int>(rank));
    }
  }
  return members;
}

// What the ranks of a machine are told, which differ in nothing.
std::string answer_to(const std::vector<const Introduction *> &machine) {
  std::vector<int> members;
  members.reserve(machine.size());
  for (const Introduction *each : machine) members.push_back(each->ranks.rank);
  return encode_members(members) + machine.front()->memory;
}

}  // namespace

void compare(const Ranks &one, const Ranks &other) {
  const auto check = [&](bool right, const char *what) {
    if (!right) contradict(one.rank, other.rank, what);
  };
  check(one.size == other.size, "their sizes differ");
  check(one.cross_size == other.cross_size, "their cross_sizes differ");
  if (one.cross_rank != other.cross_rank) return;
  check(one.local_size == other.local_size, "one machine, but their local_sizes differ");
  check(one.local_rank != other.local_rank, "one machine, but they have the same local_rank");
}

std::string encode(const Introduction &introduction) {
  const Ranks &r = introduction.ranks;
  std::string bytes;
  for (const int32_t number :
       {r.rank, r.size, r.local_rank, r.local_size, r.cross_rank, r.cross_size})
    append_number(bytes, number);
  return bytes + introduction.memory;
}

std::vector<Message> answer_introductions(const std::vector<Message> &introductions) {
  std::vector<Introduction> all;
  all.reserve(introductions.size());
  for (const Message &message : introductions)
    all.push_back(decode_introduction(message, all.size()));
  Machines machines = find_machines(all);
  std::ranges::for_each(machines, sort_machine);
  std::vector<std::string> by_machine;
  by_machine.reserve(machines.size());
  for (const auto &machine : machines) {
    if (!machine.empty()) check_complete(machine);
    by_machine.push_back(machine.empty() ? "" : answer_to(machine));
  }
  std::vector<Message> answers;
  answers.reserve(all.size());
  for (const Introduction &each : all)
    answers.emplace_back(by_machine[static_cast<size_t>(each.ranks.cross_rank)]);
  return answers;
}

Machine decode_machine(const std::string &answer, const Ranks &ranks) {
  std::string_view bytes = answer;
  Machine machine;
  machine.members = decode_members(bytes, static_cast<size_t>(ranks.local_size), ranks.size);
  machine.memory = bytes;
  return machine;
}

}  // namespace det::comm
