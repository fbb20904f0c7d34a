// As the transport sums, which may be while the caller computes the next gradients.
#include <algorithm>
#include <memory>

#include "core/trial/reduction.h"

namespace det::trial {

namespace {

class TransportReduction : public Reduction {
 public:
  TransportReduction(comm::Communicator &communicator, const GradientLayout &layout, double divisor)
      : communicator_(communicator),
        divisor_(divisor),
        lines_(std::make_unique<CacheLine[]>(layout.size() / sizeof(CacheLine))) {
    // What the transport needs for that it makes now, where all ranks are.
    float nothing = 0;
    communicator_.start_sum(reinterpret_cast<char *>(&nothing), 1, static_cast<int>(Dtype::f32));
    communicator_.finish_sums();
  }
  // A sum that has not ended still writes.
  ~TransportReduction() override {
    if (is_summing_) static_cast<void>(lines_.release());
  }

  char *buffer() override { return reinterpret_cast<char *>(lines_.get()); }

  void start(const GradientLayout::Bucket &bucket) override {
    is_summing_ = true;
    communicator_.start_sum(buffer() + bucket.offset, bucket.count, static_cast<int>(bucket.dtype));
  }

  void reduce() override {
    communicator_.finish_sums();
    is_summing_ = false;
  }

  // Divides meanwhile: once more through the buffer would cost as much as the copy.
  void read(Dtype dtype, size_t offset, size_t size, char *into) const override {
    convert(dtype, reinterpret_cast<const char *>(lines_.get()) + offset, dtype, into,
            size / bytes_of(dtype), divisor_);
  }

 private:
  comm::Communicator &communicator_;
  const double divisor_;
  std::unique_ptr<CacheLine[]> lines_;
  bool is_summing_ = false;
};

}  // namespace

std::unique_ptr<Reduction> make_transport_reduction(comm::Communicator &communicator,
                                                    const GradientLayout &layout, double divisor) {
  return std::make_unique<TransportReduction>(communicator, layout, divisor);
}

}  // namespace det::trial
