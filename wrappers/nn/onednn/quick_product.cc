#include "wrappers/nn/onednn/quick_product.h"

#include <algorithm>

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

}  // namespace

QuickProduct::QuickProduct(const OnednnContextPtr &context, const Matrix &a, const Matrix &b,
                           const Matrix &c, Result result, float *bias)
    : a_(a), b_(b), c_(c), result_(result), bias_(bias) {
  if (a.rows <= rows_by_loops || a.rows * a.columns * b.columns <= products_by_loops) return;
  const ThreadLimit limit(context->threads);
  dnnl::primitive_attr attributes = usual_attributes();
  dnnl::post_ops after;
  if (result == Result::adds) after.append_sum(1);
  attributes.set_post_ops(after);
  const MemoryDesc bias_desc =
      bias != nullptr ? row_major({1, static_cast<int64_t>(c.columns)}) : MemoryDesc();
  const auto prepared =
      describe_product(context->engine, desc_of(a), desc_of(b), bias_desc, desc_of(c), attributes);
  product_.emplace(context, dnnl::matmul(prepared), prepared.scratchpad_desc());
  product_->with(DNNL_ARG_SRC, desc_of(a), a.data)
      .with(DNNL_ARG_WEIGHTS, desc_of(b), b.data)
      .with(DNNL_ARG_DST, desc_of(c), c.data);
  if (bias != nullptr) product_->with(DNNL_ARG_BIAS, bias_desc, bias);
}

void QuickProduct::run(float *a, float *c) {
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

}  // namespace det::nn
