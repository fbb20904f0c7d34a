#include <optional>

#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/moves.h"
#include "wrappers/nn/cuda/row_gradients.h"

namespace det::nn {

namespace {

// Ids that were fed have been checked. Of one that a layer has computed, and that is no row, the
// features are not numbers.
template <class Id>
void take_rows(const CudaContext &context, const Id *ids, const Array &table, const Array &output) {
  const float *rows = table.data();
  float *y = output.data();
  const int64_t count = table.shape()[0];
  const auto features = static_cast<size_t>(table.shape()[1]);
  for_each(context, output.size(), [=] DET_DEVICE(size_t i) {
    const int64_t row = row_of(ids[i / features], count);
    y[i] = row < 0 ? NAN : rows[static_cast<size_t>(row) * features + i % features];
  });
}

class EmbeddingKernel : public CudaKernel<EmbeddingOp> {
 public:
  EmbeddingKernel(const EmbeddingOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel(op, operands, context) {
    if (const Array &table = input_gradient(1))
      gradients_.emplace(*context, input(0).size(), table);
  }

  void forward() override {
    if (is_of_integers()) take_rows(*context_, input(0).data<int32_t>(), input(1), output());
    else take_rows(*context_, input(0).data(), input(1), output());
  }

  void backward() override {
    for (size_t i = 0; i < inputs(); ++i)
      if (const Array &gradient = input_gradient(i)) clear(*context_, gradient);
    if (!gradients_) return;
    const float *dy = output_gradient().data();
    float *dtable = input_gradient(1).data();
    if (is_of_integers()) gradients_->run(input(0).data<int32_t>(), dy, dtable);
    else gradients_->run(input(0).data(), dy, dtable);
  }

 private:
  bool is_of_integers() const { return input(0).dtype() == Dtype::i32; }

  std::optional<RowGradients> gradients_;
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const EmbeddingOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (operands.inputs.at(1).size() == 0) return nullptr;
  // Places and rows are counted in 32 bits.
  if (operands.inputs[0].size() > UINT32_MAX || operands.inputs[1].shape()[0] > UINT32_MAX - 1)
    return nullptr;
  return std::make_unique<EmbeddingKernel>(op, operands, context);
}

}  // namespace det::nn
