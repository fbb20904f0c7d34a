// How many requests of one trial should be under way at once. A master carries them out one after
// the other, since they change one row of its database: more than keep it busy only get in each
// other's way there, while over a slow network many are needed for that.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace det::master {

// Grows while answers come as fast as the fastest did, and shrinks while requests queue up, to
// between two and four waiting (the rule of TCP Vegas).
class Window {
 public:
  using Duration = std::chrono::duration<double>;

  size_t size() const noexcept { return size_; }

  // `took`: from a request until its answer.
  void answered(Duration took) noexcept {
    if (to_drain_ > 0) return static_cast<void>(--to_drain_);
    if (resumed_ > 0) {  // this one was alone
      fastest_ = usual_ = took;
      size_ = std::exchange(resumed_, 0);
      return;
    }
    fastest_ = std::min(fastest_, took);
    usual_ = usual_ == Duration::zero() ? took : usual_ + (took - usual_) / 8;
    if (++answers_ % remembered == 0) return measure_again();
    if (++of_round_ < size_) return;
    of_round_ = 0;
    const double waiting = static_cast<double>(size_) * (1 - fastest_ / usual_);
    if (waiting < 2 || usual_ < at_once) size_ = std::min(size_ + 1, widest);
    else if (waiting > 4) size_ = std::max(size_ - 1, narrowest);
  }

  // One request asks whether the master is back.
  void failed() noexcept {
    size_ = 1;
    of_round_ = to_drain_ = resumed_ = 0;
    usual_ = Duration::zero();
  }

 private:
  static constexpr size_t narrowest = 2, widest = 32;
  static constexpr uint64_t remembered = 512;             // answers
  static constexpr std::chrono::milliseconds at_once{2};  // nobody waits for rows of a database

  // The network or the master may be slower by now, which only a request that is alone can tell.
  void measure_again() noexcept {
    to_drain_ = size_ - 1;
    resumed_ = std::exchange(size_, 1);
  }

  size_t size_ = narrowest;
  size_t of_round_ = 0;
  size_t to_drain_ = 0;
  size_t resumed_ = 0;
  uint64_t answers_ = 0;
  Duration fastest_ = Duration::max();
  Duration usual_{0};
};

}  // namespace det::master
