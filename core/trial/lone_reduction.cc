// One rank sums nothing.
#include <vector>

#include "core/trial/reduction.h"

namespace det::trial {

namespace {

class LoneReduction : public Reduction {
 public:
  LoneReduction(const GradientLayout &layout, double divisor)
      : divisor_(divisor), buffer_(layout.size()) {}

  char *buffer() override { return buffer_.data(); }
  void reduce() override {}
  void read(Dtype dtype, size_t offset, size_t size, char *into) const override {
    convert(dtype, &buffer_[offset], dtype, into, size / bytes_of(dtype), divisor_);
  }

 private:
  const double divisor_;
  std::vector<char> buffer_;
};

}  // namespace

std::unique_ptr<Reduction> make_lone_reduction(const GradientLayout &layout, double divisor) {
  return std::make_unique<LoneReduction>(layout, divisor);
}

}  // namespace det::trial
