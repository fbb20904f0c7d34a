#include "wrappers/nn/onednn/quick_recurrent.h"

namespace det::nn {

namespace {

class QuickSimpleRnn : public QuickRecurrent<SimpleRnnOp, RecurrentSums::together> {
 public:
  QuickSimpleRnn(const SimpleRnnOp &op, const Operands &operands, const OnednnContextPtr &context)
      : QuickRecurrent(op, operands, context, !derives_from_result(op.activation)) {}

 private:
  void forward_cell(size_t step, Records records) override {
    const Matrix state = rows(states_, step + 1, records);
    std::copy_n(rows(sums_, step, records).data, state.rows * units_, state.data);
    activate_all(op_.activation, state.data, state.rows * units_);
  }

  void backward_cell(size_t step, Records records) override {
    const Matrix dsums = rows(sums_gradient_, step, records);
    const size_t count = dsums.rows * units_;
    derive_all(op_.activation, rows(sums_, step, records).data,
               rows(states_, step + 1, records).data, dsums.data, count);
    multiply(rows(state_gradient_, 0, records).data, dsums.data, count);
  }
};

class QuickLstm : public QuickRecurrent<LstmOp, RecurrentSums::together> {
 public:
  QuickLstm(const LstmOp &op, const Operands &operands, const OnednnContextPtr &context)
      : QuickRecurrent(
            op, operands, context,
            !derives_from_result(op.activation) || !derives_from_result(op.recurrent_activation)),
        cells_(buffer(steps_ + 1, units_)),
        activated_cells_(buffer(steps_, units_)) {
    if (operands.has_gradients()) {
      cell_gradient_ = buffer(1, units_);
      cell_slopes_ = buffer(1, units_);
    }
    add_kind(cells_, cell_gradient_);
  }

  void forward() override {
    QuickRecurrent::forward();
    std::copy_n(at(cells_, steps_).data, batch_ * units_, output(2).data());
  }

 private:
  void forward_cell(size_t step, Records records) override {
    for (size_t record = records.begin; record < records.end; ++record) {
      float *gate = at(gates_, step).row(record);
      begin_gates(at(sums_, step).row(record), gate);
      activate_all(op_.recurrent_activation, gate, 2 * units_);
      activate_all(op_.activation, gate + 2 * units_, units_);
      activate_all(op_.recurrent_activation, gate + 3 * units_, units_);
      const Gates is(gate, units_);
      float *cell = at(cells_, step + 1).row(record);
      set_products(is.forget, at(cells_, step).row(record), cell, units_);
      add_products(is.input, is.cell, cell, units_);
      float *activated = at(activated_cells_, step).row(record);
      std::copy_n(cell, units_, activated);
      activate_all(op_.activation, activated, units_);
      set_products(is.output, activated, at(states_, step + 1).row(record), units_);
    }
  }

  void begin_backward() override {
    const auto last = output_gradient(2).elements();
    std::copy(last.begin(), last.end(), cell_gradient_.data());
  }

  void backward_cell(size_t step, Records records) override {
    const Matrix slopes = rows(cell_slopes_, 0, records);
    derive_all(op_.activation, rows(cells_, step + 1, records).data,
               rows(activated_cells_, step, records).data, slopes.data, slopes.rows * units_);
    for (size_t record = records.begin; record < records.end; ++record) {
      float *dsum = at(sums_gradient_, step).row(record);
      find_slopes(at(sums_, step).row(record), at(gates_, step).row(record), dsum);
      const Gates is(at(gates_, step).row(record), units_);
      const Gates becomes(dsum, units_);
      const float *dstate = at(state_gradient_, 0).row(record);
      float *dcell = at(cell_gradient_, 0).row(record);
      add_products(dstate, is.output, at(cell_slopes_, 0).row(record), dcell, units_);
      multiply(dcell, is.cell, becomes.input, units_);
      multiply(dcell, at(cells_, step).row(record), becomes.forget, units_);
      multiply(dcell, is.input, becomes.cell, units_);
      multiply(dstate, at(activated_cells_, step).row(record), becomes.output, units_);
      multiply(is.forget, dcell, units_);
    }
  }

  void find_slopes(const float *sum, const float *gate, float *slopes) const {
    derive_all(op_.recurrent_activation, sum, gate, slopes, 2 * units_);
    derive_all(op_.activation, sum + 2 * units_, gate + 2 * units_, slopes + 2 * units_, units_);
    derive_all(op_.recurrent_activation, sum + 3 * units_, gate + 3 * units_, slopes + 3 * units_,
               units_);
  }

  struct Gates {
    Gates(float *all, size_t units)
        : input(all), forget(all + units), cell(all + 2 * units), output(all + 3 * units) {}
    float *input, *forget, *cell, *output;
  };

  const Array cells_;  // (steps + 1, batch, units), as the states
  const Array activated_cells_;
  Array cell_gradient_, cell_slopes_;  // (batch, units)
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const SimpleRnnOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (!QuickSimpleRnn::is_of_use(op, operands)) return nullptr;
  return std::make_unique<QuickSimpleRnn>(op, operands, context);
}

std::unique_ptr<Kernel> onednn_kernel(const LstmOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (!QuickLstm::is_of_use(op, operands)) return nullptr;
  return std::make_unique<QuickLstm>(op, operands, context);
}

}  // namespace det::nn
