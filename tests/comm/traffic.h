// What the ranks of a job send each other, by counting: of so many ranks that they cannot all run
// here.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/comm/join/handshake.h"
#include "core/comm/join/layout.h"
#include "core/comm/transport.h"

namespace det::test {

enum class Step { handshake, join, gather, allgather, broadcast };
constexpr size_t steps = 5;

// Sent and received.
struct Load {
  size_t messages = 0, bytes = 0;
  void add(size_t size) {
    ++messages;
    bytes += size;
  }
  bool operator==(const Load &) const = default;
};

// A job whose machines come in the order of their numbers, with as many ranks on each.
class Plan {
 public:
  Plan(int machines, int per_machine)
      : machines_(machines), per_machine_(per_machine), below_(size(), 1), machines_below_(size()) {
    for (int rank = static_cast<int>(size()) - 1; rank >= 0; --rank) {
      if (is_leader(rank)) ++machines_below_[at(rank)];
      if (rank == 0) break;
      below_[at(parent(rank))] += below_[at(rank)];
      machines_below_[at(parent(rank))] += machines_below_[at(rank)];
    }
  }

  size_t size() const { return at(machines_ * per_machine_); }
  int machines() const { return machines_; }
  int per_machine() const { return per_machine_; }

  bool is_leader(int rank) const { return rank % per_machine_ == 0; }
  int leader(int rank) const { return rank - rank % per_machine_; }
  int parent(int rank) const {
    return is_leader(rank) ? comm::parent_of(rank / per_machine_) * per_machine_ : leader(rank);
  }
  comm::Branch branch(comm::Channel channel, int rank) const {
    comm::Branch branch;
    const bool global = channel == comm::Channel::global;
    if (rank != 0 && (global || !is_leader(rank))) branch.parent = parent(rank);
    if (!is_leader(rank)) return branch;
    for (int i = 1; i < per_machine_; ++i) branch.children.push_back(rank + i);
    const int number = rank / per_machine_;
    for (int i = 1; global && i <= comm::children_of(number, machines_); ++i)
      branch.children.push_back((number * comm::fan_out + i) * per_machine_);
    return branch;
  }
  size_t connections(int rank) const {
    const comm::Branch around = branch(comm::Channel::global, rank);
    return around.children.size() + (around.parent ? 1 : 0);
  }

  // Of each rank, where each gives a message of its own of so many bytes.
  std::vector<Load> loads(Step step, size_t message) const {
    std::vector<Load> loads(size());
    for (int rank = 1; rank < static_cast<int>(size()); ++rank)
      add_edge(loads, step, rank, message);
    return loads;
  }

 private:
  static size_t at(int rank) { return static_cast<size_t>(rank); }
  static size_t frame(size_t payload) { return comm::frame_head_size + payload; }
  static size_t list(size_t count, size_t bytes) { return frame(8 * (count + 1) + bytes); }

  // Between a rank and the one above it.
  void add_edge(std::vector<Load> &loads, Step step, int rank, size_t message) const {
    const auto add_between = [&](int one, int other, std::initializer_list<size_t> sizes) {
      for (const size_t size : sizes) {
        loads[at(one)].add(size);
        loads[at(other)].add(size);
      }
    };
    const auto add = [&](std::initializer_list<size_t> sizes) {
      add_between(rank, parent(rank), sizes);
    };
    const size_t count = below_[at(rank)];
    const size_t up = count == 1 ? frame(message) : list(count, count * message);
    switch (step) {
      case Step::handshake:
        add({comm::challenge_size, comm::hello_size, comm::welcome_size});
        if (is_leader(rank) && rank / per_machine_ > comm::fan_out)
          add_between(
              rank, 0,
              {comm::challenge_size, comm::hello_size, comm::welcome_size + longest_address});
        break;
      case Step::join:
        add_join(add, rank, count);
        break;
      case Step::gather:
        add({up, frame(0)});
        break;
      case Step::allgather:
        add({up, list(size(), size() * message)});
        break;
      case Step::broadcast:
        add({frame(message)});
        break;
    }
  }

  // Introductions and their answers, votes about shared memory, and all wait for all.
  template <class Add>
  void add_join(const Add &add, int rank, size_t count) const {
    constexpr size_t speaker = 4, introduction = 24, answer = 12, vote = 1;
    const size_t answers = std::max<size_t>(1, machines_below_[at(rank)]);
    add({list(count, count * (speaker + introduction)), list(count, answers * answer), frame(0)});
    if (!is_leader(rank)) add({list(1, speaker + vote), list(1, vote), frame(0)});
    if (machines_ > 1) add({count == 1 ? frame(0) : list(count, 0), frame(0)});
  }

  static constexpr size_t longest_address = 30;  // "tcp:255.255.255.255:65535"

  const int machines_, per_machine_;
  std::vector<size_t> below_, machines_below_;  // with itself
};

}  // namespace det::test
