// Recurrent layers by products of oneDNN and loops of our own between them. As quick as oneDNN's
// own LSTM (tests/bench/bench_nn_products), which has no masks and leaves nothing out by gates.
#include <algorithm>
#include <optional>

#include "wrappers/nn/arithmetic/row_arithmetic.h"
#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/shares.h"
#include "wrappers/nn/onednn/small_products.h"
#include "wrappers/nn/reference/matrix.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

constexpr size_t rows_by_loops = 3;  // as few read b but once or twice
constexpr size_t products_by_loops = 1 << 14;

MemoryDesc desc_of(const Matrix &m) {
  using Dim = dnnl::memory::dim;
  return {{static_cast<Dim>(m.rows), static_cast<Dim>(m.columns)},
          dnnl::memory::data_type::f32,
          dnnl::memory::dims{static_cast<Dim>(m.row_stride), static_cast<Dim>(m.column_stride)}};
}

// A product of matrices that is taken again and again: by oneDNN, or by loops of our own where it
// is too small for what oneDNN prepares at each call.
class RepeatedProduct {
 public:
  enum class Result { replaces, adds };  // what is in c before

  // c = a . b + bias, or c += a . b. What they point to, and the bias, which may be null, stay
  // where they are.
  RepeatedProduct(const OnednnContextPtr &context, const Matrix &a, const Matrix &b,
                  const Matrix &c, Result result, float *bias = nullptr)
      : a_(a), b_(b), c_(c), result_(result), bias_(bias) {
    if (a.rows <= rows_by_loops || a.rows * a.columns * b.columns <= products_by_loops) return;
    const ThreadLimit limit(context->threads);
    dnnl::primitive_attr attributes = usual_attributes();
    dnnl::post_ops after;
    if (result == Result::adds) after.append_sum(1);
    attributes.set_post_ops(after);
    const MemoryDesc bias_desc =
        bias != nullptr ? row_major({1, static_cast<int64_t>(c.columns)}) : MemoryDesc();
    const auto prepared = describe_product(context->engine, desc_of(a), desc_of(b), bias_desc,
                                           desc_of(c), attributes);
    product_.emplace(context, dnnl::matmul(prepared), prepared.scratchpad_desc());
    product_->with(DNNL_ARG_SRC, desc_of(a), a.data)
        .with(DNNL_ARG_WEIGHTS, desc_of(b), b.data)
        .with(DNNL_ARG_DST, desc_of(c), c.data);
    if (bias != nullptr) product_->with(DNNL_ARG_BIAS, bias_desc, bias);
  }

  void run() { run(a_.data, c_.data); }
  // On others in place of a and c, that lie as these do.
  void run(float *a, float *c) {
    if (product_) {
      product_->move(DNNL_ARG_SRC, a);
      product_->move(DNNL_ARG_DST, c);
      return product_->run();
    }
    Matrix from = a_;
    Matrix to = c_;
    from.data = a;
    to.data = c;
    for (size_t row = 0; row < to.rows && result_ == Result::replaces; ++row) {
      if (bias_ != nullptr) std::copy_n(bias_, to.columns, to.row(row));
      else std::fill_n(to.row(row), to.columns, 0.0F);
    }
    add_product(from, b_, to);
  }

 private:
  const Matrix a_, b_, c_;
  const Result result_;
  float *const bias_;
  std::optional<OnednnPrimitive> product_;
};

// What recurrent operations have in common where they are quick: time is the first axis within, so
// that each step's rows lie together. What needs no state is one product for all steps, before the
// way through time or behind it; a step has one product, and a cell that is loops over its rows.
// Each thread goes all the way with records of its own, and waits for no other.

// Products of x and of states are added up where the cell does not look at them apart.
enum class RecurrentSums { together, apart };

template <class Op, RecurrentSums recurrent_sums>
class OnednnRecurrent : public OperationKernel<Op> {
 public:
  OnednnRecurrent(const Op &op, const Operands &operands, const OnednnContextPtr &context,
                  bool looks_at_sums)
      : OperationKernel<Op>(op, operands),
        batch_(size_of(operands.inputs[0], 0)),
        steps_(size_of(operands.inputs[0], 1)),
        features_(size_of(operands.inputs[0], 2)),
        units_(size_of(operands.inputs[2], 0)),
        width_(size_of(operands.inputs[2], 1)),
        first_extra_(operands.inputs.size() - op.extras.inputs()),
        shares_(batch_ < few_records * static_cast<size_t>(context->threads)
                    ? 1
                    : shares_of(*context, steps_ * batch_ * width_)),
        context_of_share_(shares_ == 1 ? context : std::make_shared<OnednnContext>(1)),
        x_(buffer(steps_, features_)),
        sums_(buffer(steps_, width_)),
        products_(are_apart ? buffer(steps_, width_) : sums_),
        gates_(looks_at_sums ? buffer(steps_, width_) : sums_),
        states_(buffer(steps_ + 1, units_)),
        of_x_(context, whole(x_, steps_), kernel(this->input(1)), whole(sums_, steps_),
              RepeatedProduct::Result::replaces, bias(0)) {
    for_each_part([&](size_t, Records records) {
      of_state_.emplace_back(
          context_of_share_, rows(states_, 0, records), recurrent(this->input(2)),
          rows(products_, 0, records),
          are_apart ? RepeatedProduct::Result::replaces : RepeatedProduct::Result::adds,
          are_apart ? bias(1) : nullptr);
    });
    if (operands.has_gradients()) prepare_backward(context);
    add_kind(states_, state_gradient_);
  }

  // One product serves all gates, so that each cannot have a dropout of its own. The outputs serve
  // as the states, so that there are no initial states, and no zeros in place of masked steps.
  static bool is_of_use(const Op &op, const Operands &operands) {
    return !op.dropout && op.extras.states == 0 && !op.extras.zeroes_masked &&
           operands.inputs[0].size() > 0 && operands.outputs[0].size() > 0;
  }

  void forward() override {
    for_each_row([&](size_t record, size_t step, size_t row) {
      std::copy_n(this->input(0).data() + row_of_x(record, step) * features_, features_,
                  x_.data() + row * features_);
    });
    of_x_.run();
    for_each_share(shares_, batch_, [&](size_t share, size_t first, size_t end) {
      const Records records{first, end};
      for (size_t step = 0; step < steps_; ++step) {
        // The first state is zero.
        if (step > 0 || are_apart)
          of_state_[share].run(rows(states_, step, records).data,
                               rows(products_, step, records).data);
        forward_cell(step, records);
        keep_masked(step, records);
      }
    });
    for_each_row([&](size_t record, size_t step, size_t row) {
      std::copy_n(states_.data() + (row + batch_) * units_, units_,
                  this->output().data() + (record * steps_ + step) * units_);
    });
    std::copy_n(at(states_, steps_).data, batch_ * units_, this->output(1).data());
  }

  void backward() override {
    begin_backward();
    const auto last = this->output_gradient(1).elements();
    std::copy(last.begin(), last.end(), state_gradient_.data());
    for_each_share(shares_, batch_, [&](size_t share, size_t first, size_t end) {
      const Records records{first, end};
      for (size_t step = steps_; step-- > 0;) {
        for (size_t record = first; record < end; ++record)
          add(this->output_gradient().data() + (record * steps_ + step) * units_,
              state_gradient_.data() + record * units_, units_);
        take_masked(step, records);
        backward_cell(step, records);
        if (step > 0)
          back_to_state_[share].run(rows(products_gradient_, step, records).data,
                                    rows(state_gradient_, 0, records).data);
        put_masked_back(step, records);
      }
    });
    if (back_to_kernel_) back_to_kernel_->run();
    if (back_to_recurrent_) back_to_recurrent_->run();
    if (float *gradient = bias_gradient(0)) add_up(sums_gradient_, gradient);
    if (float *gradient = are_apart ? bias_gradient(1) : nullptr)
      add_up(products_gradient_, gradient);
    if (!back_to_x_) return;
    back_to_x_->run();
    for_each_row([&](size_t record, size_t step, size_t row) {
      std::copy_n(x_gradient_.data() + row * features_, features_,
                  this->input_gradient(0).data() + row_of_x(record, step) * features_);
    });
  }

 protected:
  static constexpr bool are_apart = recurrent_sums == RecurrentSums::apart;

  // Those of a share.
  struct Records {
    size_t begin, end;
  };

  // Of some records: from the sums of a step and the state before it writes its gates and the state
  // after it.
  virtual void forward_cell(size_t step, Records records) = 0;
  virtual void begin_backward() {}
  // From state_gradient_, of the state after the step, writes gradients of its sums and, where they
  // are apart, of its products; then leaves in state_gradient_ what reaches the state before it by
  // another way than the products.
  virtual void backward_cell(size_t step, Records records) = 0;

  // States of a cell, and what their gradient is computed in: under a mask both go past the cell.
  void add_kind(const Array &states, const Array &gradient) {
    kinds_.push_back({states, gradient, gradient ? buffer(1, units_) : Array()});
  }

  // Rows of `columns` for each record of each step.
  Array buffer(size_t steps, size_t columns) const {
    return Array(
        {{static_cast<int64_t>(steps * batch_), static_cast<int64_t>(columns)}, Dtype::f32});
  }
  // Those of one step.
  Matrix at(const Array &array, size_t step) const {
    const auto columns = size_of(array, 1);
    return matrix(array.data() + step * batch_ * columns, batch_, columns);
  }
  Matrix rows(const Array &array, size_t step, Records records) const {
    const Matrix all = at(array, step);
    return matrix(all.row(records.begin), records.end - records.begin, all.columns);
  }
  // What the activations are applied to, in place or on a copy.
  void begin_gates(float *sum, float *gate) const {
    if (gate != sum) std::copy_n(sum, width_, gate);
  }

  const size_t batch_, steps_, features_, units_, width_, first_extra_;
  const size_t shares_;
  const OnednnContextPtr context_of_share_;
  const Array x_;
  // (steps, batch, gates * units); some of them are the same memory.
  const Array sums_, products_, gates_;
  const Array states_;  // (steps + 1, batch, units), that before the first step ahead
  Array sums_gradient_, products_gradient_, state_gradient_, x_gradient_;

 private:
  static constexpr size_t few_records = 4;  // of a share: products of fewer rows are slow

  struct Kind {
    Array states, gradient, kept;
  };

  // The records that do not count at a step.
  template <class Visit>
  void for_each_masked(size_t step, Records records, const Visit &visit) const {
    if (!this->op_.extras.has_mask) return;
    const size_t time = this->op_.goes_backwards ? steps_ - 1 - step : step;
    const float *mask = this->input(first_extra_).data();
    for (const Kind &kind : kinds_)
      for (size_t record = records.begin; record < records.end; ++record)
        if (mask[record * steps_ + time] == 0) visit(kind, record);
  }
  void keep_masked(size_t step, Records records) const {
    for_each_masked(step, records, [&](const Kind &kind, size_t record) {
      std::copy_n(at(kind.states, step).row(record), units_, at(kind.states, step + 1).row(record));
    });
  }
  void take_masked(size_t step, Records records) const {
    for_each_masked(step, records, [&](const Kind &kind, size_t record) {
      float *gradient = at(kind.gradient, 0).row(record);
      std::copy_n(gradient, units_, at(kind.kept, 0).row(record));
      std::fill_n(gradient, units_, 0.0F);
    });
  }
  void put_masked_back(size_t step, Records records) const {
    for_each_masked(step, records, [&](const Kind &kind, size_t record) {
      std::copy_n(at(kind.kept, 0).row(record), units_, at(kind.gradient, 0).row(record));
    });
  }

  // As for_each_share(), one after the other.
  template <class Visit>
  void for_each_part(const Visit &visit) const {
    for (size_t share = 0; share < shares_; ++share)
      visit(share, Records{batch_ * share / shares_, batch_ * (share + 1) / shares_});
  }

  void prepare_backward(const OnednnContextPtr &context) {
    const auto replaces = RepeatedProduct::Result::replaces;
    sums_gradient_ = buffer(steps_, width_);
    products_gradient_ = are_apart ? buffer(steps_, width_) : sums_gradient_;
    state_gradient_ = buffer(1, units_);
    for_each_part([&](size_t, Records records) {
      back_to_state_.emplace_back(context_of_share_, rows(products_gradient_, 0, records),
                                  recurrent(this->input(2)).transposed(),
                                  rows(state_gradient_, 0, records),
                                  are_apart ? RepeatedProduct::Result::adds : replaces);
    });
    if (const Array &gradient = this->input_gradient(1))
      back_to_kernel_.emplace(context, whole(x_, steps_).transposed(),
                              whole(sums_gradient_, steps_), kernel(gradient), replaces);
    if (const Array &gradient = this->input_gradient(2))
      back_to_recurrent_.emplace(context, whole(states_, steps_).transposed(),
                                 whole(products_gradient_, steps_), recurrent(gradient), replaces);
    if (!this->input_gradient(0)) return;
    x_gradient_ = buffer(steps_, features_);
    back_to_x_.emplace(context, whole(sums_gradient_, steps_), kernel(this->input(1)).transposed(),
                       whole(x_gradient_, steps_), replaces);
  }

  template <class Visit>
  void for_each_row(const Visit &visit) const {
    for_each_share(shares_, batch_, [&](size_t, size_t first, size_t end) {
      for (size_t record = first; record < end; ++record)
        for (size_t step = 0; step < steps_; ++step) visit(record, step, step * batch_ + record);
    });
  }
  size_t row_of_x(size_t record, size_t step) const {
    return record * steps_ + (this->op_.goes_backwards ? steps_ - 1 - step : step);
  }

  static size_t size_of(const Array &array, size_t axis) {
    return static_cast<size_t>(array.shape()[axis]);
  }
  Matrix whole(const Array &array, size_t steps) const {
    return matrix(array.data(), steps * batch_, size_of(array, 1));
  }
  Matrix kernel(const Array &array) const { return matrix(array.data(), features_, width_); }
  Matrix recurrent(const Array &array) const { return matrix(array.data(), units_, width_); }
  float *bias(size_t row) const {
    return first_extra_ == 4 ? this->input(3).data() + row * width_ : nullptr;
  }
  float *bias_gradient(size_t row) const {
    if (first_extra_ < 4 || !this->input_gradient(3)) return nullptr;
    return this->input_gradient(3).data() + row * width_;
  }
  void add_up(const Array &gradients, float *sum) const {
    const SmallProducts products{steps_ * batch_, 0, width_};
    for_each_share(shares_, width_, [&](size_t, size_t begin, size_t end) {
      products.of_bias(gradients.data(), sum, begin, end);
    });
  }

  std::vector<Kind> kinds_;
  RepeatedProduct of_x_;
  std::vector<RepeatedProduct> of_state_, back_to_state_;  // of each share
  std::optional<RepeatedProduct> back_to_kernel_, back_to_recurrent_, back_to_x_;
};

class OnednnSimpleRnn : public OnednnRecurrent<SimpleRnnOp, RecurrentSums::together> {
 public:
  OnednnSimpleRnn(const SimpleRnnOp &op, const Operands &operands, const OnednnContextPtr &context)
      : OnednnRecurrent(op, operands, context, !derives_from_result(op.activation)) {}

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

class OnednnLstm : public OnednnRecurrent<LstmOp, RecurrentSums::together> {
 public:
  OnednnLstm(const LstmOp &op, const Operands &operands, const OnednnContextPtr &context)
      : OnednnRecurrent(
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
    OnednnRecurrent::forward();
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
  if (!OnednnSimpleRnn::is_of_use(op, operands)) return nullptr;
  return std::make_unique<OnednnSimpleRnn>(op, operands, context);
}

std::unique_ptr<Kernel> onednn_kernel(const LstmOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (!OnednnLstm::is_of_use(op, operands)) return nullptr;
  return std::make_unique<OnednnLstm>(op, operands, context);
}

namespace {

// The reset gate stands between the products with the recurrent kernel and those with the kernel.
class OnednnGru : public OnednnRecurrent<GruOp, RecurrentSums::apart> {
 public:
  OnednnGru(const GruOp &op, const Operands &operands, const OnednnContextPtr &context)
      : OnednnRecurrent(
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
  if (!op.resets_after || !OnednnGru::is_of_use(op, operands)) return nullptr;
  return std::make_unique<OnednnGru>(op, operands, context);
}

}  // namespace det::nn
