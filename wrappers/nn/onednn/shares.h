// Loops of our own by the threads that oneDNN computes with.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>

#include "wrappers/nn/onednn/onednn_primitive.h"

namespace det::nn {

// Into how many shares a loop over so many elements is worth to be cut: one, or one for each
// thread. The same for the same number of threads, so that results are the same bits.
size_t shares_of(const OnednnContext &context, size_t elements);

// Calls work(loop, share) for each share, beside each other. It throws nothing.
void run_shares(size_t shares, void (*work)(const void *loop, size_t share), const void *loop);

// Calls work(share, begin, end) for each share of 0 to `count`, beside each other. Throws what one
// of them threw, after all have ended.
template <class Work>
void for_each_share(size_t shares, size_t count, const Work &work) {
  std::atomic_flag has_failed = ATOMIC_FLAG_INIT;
  std::exception_ptr failure;
  const auto loop = [&](size_t share) {
    try {
      work(share, count * share / shares, count * (share + 1) / shares);
    } catch (...) {
      if (!has_failed.test_and_set()) failure = std::current_exception();
    }
  };
  run_shares(
      shares, [](const void *one, size_t share) { (*static_cast<decltype(&loop)>(one))(share); },
      &loop);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace det::nn
