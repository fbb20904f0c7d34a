// Everything that a back end may be asked to compute.
#pragma once

#include <variant>

#include "wrappers/nn/operations/arranging_op.h"
#include "wrappers/nn/operations/attention_op.h"
#include "wrappers/nn/operations/convolution_op.h"
#include "wrappers/nn/operations/dense_op.h"
#include "wrappers/nn/operations/dropout_op.h"
#include "wrappers/nn/operations/elementwise_op.h"
#include "wrappers/nn/operations/embedding_op.h"
#include "wrappers/nn/operations/loss_op.h"
#include "wrappers/nn/operations/normalization_op.h"
#include "wrappers/nn/operations/pooling_op.h"
#include "wrappers/nn/operations/random_image_op.h"
#include "wrappers/nn/operations/recurrent_op.h"
#include "wrappers/nn/operations/regularization_op.h"
#include "wrappers/nn/operations/resizing_op.h"
#include "wrappers/nn/operations/rounding_op.h"

namespace det::nn {

// The plain loops (reference/) have all of them, which the compiler sees to; others what they do
// better.
using Operation =
    std::variant<ActivationOp, ArithmeticOp, AttentionMaskOp, BatchNormalizationOp, BatchedMatMulOp,
                 BroadcastOp, ConcatenateOp, ConvolutionOp, DenseOp, DropoutOp, EmbeddingOp,
                 FunctionOp, GruOp, InterpolatingOp, LayerNormalizationOp, LossOp, LstmOp,
                 PaddingOp, PoolingOp, RandomImageOp, RegularizationOp, ReluOp, RepeatingOp,
                 ReshapeOp, ReverseOp, RoundingOp, ScaleOp, SimpleRnnOp, SliceOp, SoftmaxOp,
                 SparseCrossEntropyOp, SparseLossOp, TransposeOp>;

inline ArrayTypes infer(const Operation &operation, const ArrayTypes &inputs) {
  return std::visit([&](const auto &one) { return one.infer(inputs); }, operation);
}

}  // namespace det::nn
