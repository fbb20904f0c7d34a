// Dropout of single elements, four of which are drawn at once. oneDNN has none; the plain loops
// take seven times as long (tests/bench/bench_nn_products).
#include "core/base/vectorised.h"
#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/shares.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

// The numbers from 4 * `first` on of `draws`: into `factors` the scale of what is kept, 0 of what
// is left out.
DET_VECTORISED
void draw_factors(const DropoutDraws &draws, float rate, float scale, size_t first, size_t end,
                  float *factors) {
  for (size_t four = first; four < end; ++four) {
    const auto words = draws.words(four);
    for (size_t k = 0; k < words.size(); ++k)
      factors[4 * four + k] = uniform_from(words[k]) >= rate ? scale : 0;
  }
}

// What is left out is 0, whatever it was.
DET_VECTORISED
void leave_out(const float *from, const float *factors, float *to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = factors[i] != 0 ? from[i] * factors[i] : 0;
}

class VectorisedDropout : public OperationKernel<DropoutOp> {
 public:
  VectorisedDropout(const DropoutOp &op, const Operands &operands, const OnednnContext &context)
      : OperationKernel(op, operands),
        fours_((input(0).size() + 3) / 4),
        shares_(shares_of(context, input(0).size())),
        factors_(4 * fours_) {}

  void forward() override {
    const DropoutDraws draws(op_.seed.value_or(operands_.state->seed), operands_.stream,
                             operands_.state->step);
    for_each_share(shares_, fours_, [&](size_t, size_t first, size_t end) {
      draw_factors(draws, op_.rate, op_.scale(), first, end, factors_.data());
    });
    leave_out_all(input(0), output());
  }

  void backward() override { leave_out_all(output_gradient(), input_gradient(0)); }

 private:
  void leave_out_all(const Array &from, const Array &to) const {
    for_each_share(shares_, from.size(), [&](size_t, size_t first, size_t end) {
      leave_out(from.data() + first, factors_.data() + first, to.data() + first, end - first);
    });
  }

  const size_t fours_, shares_;
  std::vector<float> factors_;  // of forward()
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const DropoutOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (op.is_spatial) return nullptr;
  return std::make_unique<VectorisedDropout>(op, operands, *context);
}

}  // namespace det::nn
