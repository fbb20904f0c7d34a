// How frames get from one rank to another: over sockets, or by a table of functions from the
// caller, of which libdetcore-mpi is one.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/frame.h"

namespace det::comm {

// A limit on waiting. The clock starts when somebody has to look at it, so that what is there at
// once costs no look.
class Patience {
 public:
  using Milliseconds = std::chrono::milliseconds;
  explicit Patience(Milliseconds limit) : limit_(limit) {}

  // Until the limit; zero once it has passed.
  Milliseconds left() {
    const auto now = std::chrono::steady_clock::now();
    if (!end_) end_ = now + limit_;
    return std::max(Milliseconds(0), std::chrono::duration_cast<Milliseconds>(*end_ - now));
  }
  // How long one wait may take that ends the patience if it is in vain.
  Milliseconds for_one_wait() { return end_ ? left() : limit_; }
  // Of a wait that was in vain and began before the clock did.
  void spend(Milliseconds waited) {
    if (!end_) end_ = std::chrono::steady_clock::now() + limit_ - waited;
  }
  void exhaust() { end_ = std::chrono::steady_clock::now(); }

 private:
  Milliseconds limit_;
  std::optional<std::chrono::steady_clock::time_point> end_;
};

// Whom a rank speaks to in a channel: one above it, unless it is the root, and those below.
struct Branch {
  std::optional<int> parent = {};
  std::vector<int> children = {};
};

class Transport {
 public:
  virtual ~Transport() = default;

  // For large payloads.
  const std::shared_ptr<SpareBuffers> &spare() const { return spare_; }

  // `peer` is a rank of the job; `head` is of that channel. All throw Code::unavailable for a peer
  // that is gone. send() throws Code::timeout at the end of `patience`; it is false when it gave up
  // because the peer, which takes no data, says something else than it would in this collective:
  // that is to be received.
  virtual bool send(int peer, Channel channel, const FrameHead &head, std::string_view payload,
                    Patience &patience) = 0;
  // The head of the next frame; false at the end of `patience`. A payload that nobody took is gone.
  virtual bool receive_head(int peer, Channel channel, FrameHead &head, Patience &patience) = 0;
  // The payload of the last head, which is not bulk. Long ones are in spare memory.
  virtual std::string receive_payload(int peer, Channel channel, const FrameHead &head,
                                      Patience &patience) = 0;

  // Throws Code::unavailable where a peer is known to be gone; says nothing of ranks without a
  // connection of their own.
  virtual void check_peer(int /*peer*/) {}

  // The job has failed, maybe while another thread sends or receives: from now on, and where this
  // is destroyed, nothing may wait for other ranks.
  virtual void give_up() noexcept {}

  // Whether the ranks of a machine may also meet in memory that they share.
  virtual bool shares_memory() const { return false; }

  // Whether any two ranks may talk; else only those that are next to each other in a tree do.
  virtual bool any_pair() const { return false; }

  // Payloads above this many bytes are bulk: announced by a head alone, and moved once both sides
  // are known to be there, so that nothing has to be kept for those who are late.
  virtual size_t bulk_above() const { return SIZE_MAX; }
  virtual void send_bulk(int /*peer*/, Channel /*channel*/, std::string_view /*payload*/,
                         Patience & /*patience*/) {}
  virtual void receive_bulk(int /*peer*/, Channel /*channel*/, char * /*data*/, size_t /*size*/,
                            Patience & /*patience*/) {}
  // Whether broadcast_bulk() is there: the root's bytes to all ranks of the channel, in step.
  virtual bool can_broadcast() const { return false; }
  virtual void broadcast_bulk(int /*root*/, Channel /*channel*/, char * /*data*/, size_t /*size*/,
                              Patience & /*patience*/) {}

  // Whether the transport sums arrays over all ranks itself. All ranks start the same sums in the
  // same order, and `data` is the transport's until finish_sums() has been true, which it is not at
  // the end of `patience`. `dtype` has a number of DET_DTYPE_*.
  virtual bool can_sum() const { return false; }
  virtual void start_sum(char * /*data*/, size_t /*count*/, int /*dtype*/) {}
  virtual bool finish_sums(Patience & /*patience*/) { return true; }

  // The place of a rank in the tree of a channel, whose members begin with the root: by itself,
  // all others are the root's children.
  virtual Branch branch(Channel /*channel*/, const std::vector<int> &members, int rank) const {
    if (rank != members.front()) return {members.front()};
    return {std::nullopt, {members.begin() + 1, members.end()}};
  }

 private:
  const std::shared_ptr<SpareBuffers> spare_ = std::make_shared<SpareBuffers>();
};

}  // namespace det::comm
