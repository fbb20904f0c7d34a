// One rank sums nothing.
#include <vector>

#include "core/trial/reduction.h"

namespace det::trial {

namespace {

class LoneReduction : public Reduction {
 public:
  LoneReduction(const GradientLayout &layout, double divisor)
      : layout_(layout), divisor_(divisor), buffer_(layout.size()) {}

  char *buffer() override { return buffer_.data(); }
  void reduce() override {
    for (const GradientLayout::Bucket &bucket : layout_.buckets()) {
      char *data = &buffer_[bucket.offset];
      convert(bucket.dtype, data, bucket.dtype, data, bucket.count, divisor_);
    }
  }
  void read(size_t offset, size_t size, char *into) const override {
    std::copy_n(&buffer_[offset], size, into);
  }

 private:
  const GradientLayout &layout_;
  const double divisor_;
  std::vector<char> buffer_;
};

}  // namespace

std::unique_ptr<Reduction> make_lone_reduction(const GradientLayout &layout, double divisor) {
  return std::make_unique<LoneReduction>(layout, divisor);
}

}  // namespace det::trial
