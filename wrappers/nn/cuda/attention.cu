#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/moves.h"
#include "wrappers/nn/cuda/narrowed.h"
#include "wrappers/nn/cuda/product.h"

namespace det::nn {

namespace {

// The sizes of c (rows, columns) = a . b over `depth`, for each of the axes before.
struct ProductSizes {
  ProductSizes(const BatchedMatMulOp &op, const Operands &operands) {
    const Shape &a = operands.inputs.at(0).shape();
    const Shape &c = operands.outputs.at(0).shape();
    rows = static_cast<size_t>(c[c.size() - 2]);
    columns = static_cast<size_t>(c.back());
    depth = static_cast<size_t>(op.transpose_a ? a[a.size() - 2] : a.back());
    batch = operands.outputs[0].size() / std::max<size_t>(rows * columns, 1);
  }
  bool is_empty() const { return rows == 0 || columns == 0 || depth == 0 || batch == 0; }

  size_t rows, columns, depth, batch;
};

class BatchedMatMulKernel : public CudaKernel<BatchedMatMulOp> {
 public:
  BatchedMatMulKernel(const BatchedMatMulOp &op, const Operands &operands,
                      const CudaContextPtr &context)
      : CudaKernel(op, operands, context),
        sizes_(op, operands),
        a_(context, input(0).size(), operands.precision),
        b_(context, input(1).size(), operands.precision),
        gradient_(context, output().size(), operands.precision),
        product_(context,
                 shape(sizes_.rows, sizes_.columns, sizes_.depth, op.transpose_a, op.transpose_b)),
        of_a_(context,
              op.transpose_a
                  ? shape(sizes_.depth, sizes_.rows, sizes_.columns, op.transpose_b, true)
                  : shape(sizes_.rows, sizes_.depth, sizes_.columns, false, !op.transpose_b)),
        of_b_(context,
              op.transpose_b
                  ? shape(sizes_.columns, sizes_.depth, sizes_.rows, true, op.transpose_a)
                  : shape(sizes_.depth, sizes_.columns, sizes_.rows, !op.transpose_a, false)) {}

  void forward() override {
    product_.run(a_.run(input(0).data()), b_.run(input(1).data()), output().data(), op_.scale);
  }

  // dA = dC . B^T and dB = A^T . dC; what lies transposed is had transposed.
  void backward() override {
    const void *dc = gradient_.run(output_gradient().data());
    const void *a = a_.of(input(0).data());
    const void *b = b_.of(input(1).data());
    if (float *da = data_or_null(input_gradient(0)))
      of_a_.run(op_.transpose_a ? b : dc, op_.transpose_a ? dc : b, da, op_.scale);
    if (float *db = data_or_null(input_gradient(1)))
      of_b_.run(op_.transpose_b ? dc : a, op_.transpose_b ? a : dc, db, op_.scale);
  }

 private:
  ProductShape shape(size_t rows, size_t columns, size_t depth, bool transpose_a,
                     bool transpose_b) const {
    // Matrices of a batch lie side by side.
    const size_t width = operands_.precision == Dtype::f32 ? sizeof(float) : sizeof(uint16_t);
    return {.rows = rows,
            .columns = columns,
            .depth = depth,
            .transpose_a = transpose_a,
            .transpose_b = transpose_b,
            .batch = sizes_.batch,
            .precision = operands_.precision,
            .alignment = alignment_of({sizes_.rows * sizes_.depth * width,
                                       sizes_.depth * sizes_.columns * width,
                                       sizes_.rows * sizes_.columns * width})};
  }

  const ProductSizes sizes_;
  const Narrowed a_, b_, gradient_;
  const Product product_, of_a_, of_b_;
};

class AttentionMaskKernel : public CudaKernel<AttentionMaskOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override {
    constexpr float hidden = -1e9F;
    const float *x = input(0).data();
    float *y = output().data();
    const Shape &scores = output().shape();
    const auto queries = static_cast<size_t>(scores[2]);
    const auto keys = static_cast<size_t>(scores[3]);
    const bool is_causal = op_.is_causal;
    const int32_t *mask = inputs() == 2 ? input(1).data<int32_t>() : nullptr;
    const Places places = mask != nullptr ? places_of_mask() : Places();
    for_each(*context_, output().size(), [=] DET_DEVICE(size_t i) {
      const bool is_later = is_causal && i % keys > i / keys % queries;
      const bool is_seen = !is_later && (mask == nullptr || mask[places.of(i)] != 0);
      y[i] = x[i] + (is_seen ? 0 : hidden);
    });
  }

  void backward() override {
    if (const Array &dx = input_gradient(0)) copy_all(*context_, output_gradient(), dx);
  }

 private:
  Places places_of_mask() const {
    const Shape &mask = input(1).shape();
    Shape strides = strides_of(mask);
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask[i] == 1) strides[i] = 0;
    return make_places(output().shape(), strides);
  }
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const BatchedMatMulOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (ProductSizes(op, operands).is_empty()) return nullptr;
  return std::make_unique<BatchedMatMulKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const AttentionMaskOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<AttentionMaskKernel>(op, operands, context);
}

}  // namespace det::nn
