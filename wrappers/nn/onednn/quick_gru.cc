#include "wrappers/nn/onednn/quick_recurrent.h"

namespace det::nn {

namespace {

// The reset gate stands between the products with the recurrent kernel and those with the kernel.
class QuickGru : public QuickRecurrent<GruOp, RecurrentSums::apart> {
 public:
  QuickGru(const GruOp &op, const Operands &operands, const OnednnContextPtr &context)
      : QuickRecurrent(
            op, operands, context,
            !derives_from_result(op.activation) || !derives_from_result(op.recurrent_activation)),
        factors_(operands.has_gradients() ? buffer(1, units_) : Array()) {}

 private:
  void forward_cell(size_t step, Records records) override {
    for (size_t record = records.begin; record < records.end; ++record) {
      const Gates sum(at(sums_, step).row(record), units_);
      const Gates product(at(products_, step).row(record), units_);
      const Gates is(at(gates_, step).row(record), units_);
      add(product.update, sum.update, 2 * units_);
      if (is.update != sum.update) std::copy_n(sum.update, 2 * units_, is.update);
      activate_all(op_.recurrent_activation, is.update, 2 * units_);
      add_products(is.reset, product.candidate, sum.candidate, units_);
      if (is.update != sum.update) std::copy_n(sum.candidate, units_, is.candidate);
      activate_all(op_.activation, is.candidate, units_);
      mix(is.update, at(states_, step).row(record), is.candidate, at(states_, step + 1).row(record),
          units_);
    }
  }

  void backward_cell(size_t step, Records records) override {
    for (size_t record = records.begin; record < records.end; ++record) {
      const Gates sum(at(sums_, step).row(record), units_);
      const Gates is(at(gates_, step).row(record), units_);
      const Gates dsum(at(sums_gradient_, step).row(record), units_);
      const Gates dproduct(at(products_gradient_, step).row(record), units_);
      float *dstate = at(state_gradient_, 0).row(record);
      float *factor = at(factors_, 0).row(record);
      derive_all(op_.recurrent_activation, sum.update, is.update, dsum.update, 2 * units_);
      derive_all(op_.activation, sum.candidate, is.candidate, dsum.candidate, units_);
      // The state is candidate + update (before - candidate).
      set_differences(at(states_, step).row(record), is.candidate, factor, units_);
      multiply(dstate, factor, dsum.update, units_);
      set_complements(is.update, factor, units_);
      multiply(dstate, factor, dsum.candidate, units_);
      multiply(dsum.candidate, at(products_, step).row(record) + 2 * units_, dsum.reset, units_);
      std::copy_n(dsum.update, 2 * units_, dproduct.update);
      set_products(dsum.candidate, is.reset, dproduct.candidate, units_);
      multiply(is.update, dstate, units_);
    }
  }

  struct Gates {
    Gates(float *all, size_t units) : update(all), reset(all + units), candidate(all + 2 * units) {}
    float *update, *reset, *candidate;
  };

  const Array factors_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const GruOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (!op.resets_after || !QuickGru::is_of_use(op, operands)) return nullptr;
  return std::make_unique<QuickGru>(op, operands, context);
}

}  // namespace det::nn
