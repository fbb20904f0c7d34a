// Named phases of a program, for which the library sums up the time.
#pragma once

#include <det/train.h>
#include <det/error.hpp>

namespace det {
inline namespace v1 {

// A phase. Make it once, with Train::region(). Any number of threads may be in it.
class Region {
 public:
  Region() noexcept = default;
  Region(det_train_context *train, det_region number) noexcept : train_(train), number_(number) {}

  // Measures as long as it lives, on the thread that makes it. It never fails. Without an open core
  // it measures nothing.
  class Scope {
   public:
    explicit Scope(const Region &region) noexcept
        : train_(region.train_),
          number_(det_train_begin_region(train_, region.number_, nullptr) == DET_OK ? region.number_
                                                                                    : 0) {}
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    ~Scope() {
      if (number_ != 0) det_train_end_region(train_, number_, nullptr);
    }

   private:
    det_train_context *const train_;
    const det_region number_;
  };
  [[nodiscard]] Scope scope() const noexcept { return Scope(*this); }

  void begin(OnFailure on = {}) const { detail::call(on, det_train_begin_region, train_, number_); }
  void end(OnFailure on = {}) const { detail::call(on, det_train_end_region, train_, number_); }

 private:
  det_train_context *train_ = nullptr;
  det_region number_ = 0;
};

}  // namespace v1
}  // namespace det
