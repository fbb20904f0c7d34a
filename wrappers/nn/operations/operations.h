// Everything that a back end may be asked to compute, and what every operation says of itself.
//
// An operation is what a back end computes at once. It knows its attributes, and by infer() which
// arrays come out for those that go in, or why these cannot be (Code::invalid; the layer is named
// by the caller). How it is computed, forward and backward, is the back ends' (backend.h).
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wrappers/nn/arithmetic/activation.h"
#include "wrappers/nn/arithmetic/host_device.h"
#include "wrappers/nn/arithmetic/loss_function.h"
#include "wrappers/nn/arithmetic/random_stream.h"
#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/weights/regularizer.h"

namespace det::nn {

using ArrayTypes = std::vector<ArrayType>;

// What is computed of each element by itself, and along the last axis.

// y = f(x), of any shape.
struct ActivationOp {
  Activation activation = Activation::linear;
  float alpha = 1;  // of elu, and of leaky_relu

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// y = min(x, largest) above the threshold, and slope * (x - threshold) up to it; of any shape. What
// is no number stays none.
struct ReluOp {
  float slope = 0;
  float threshold = 0;  // 0 or more
  float largest = std::numeric_limits<float>::infinity();

  DET_HOST_DEVICE float activate(float x) const {
    if (x <= threshold) return slope == 0 ? 0 : slope * (x - threshold);
    return x > largest ? largest : x;
  }
  // At the threshold neither side's.
  DET_HOST_DEVICE float derivative(float x) const {
    return x < threshold ? slope : x > threshold && x <= largest ? 1 : 0;
  }
  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// y = factor * x + offset, of any shape.
struct ScaleOp {
  float factor = 1;
  float offset = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Over the last axis, with the largest taken off first; or the logarithm of it.
struct SoftmaxOp {
  bool is_logarithm = false;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The same elements in another shape; no work where both may share their memory.
struct ReshapeOp {
  Shape shape;  // known

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

enum class Function {
  absolute,
  clip,       // to a, and then to b
  differs,    // 1 where x is another number than a, else 0
  logarithm,  // the natural one
  power,      // x to the power of a
  real,       // a whole number as a real one
  whole,      // the whole part of a real number, as I32
};

// y = f(x), of any shape; x may be of whole numbers.
struct FunctionOp {
  Function function = Function::real;
  float a = 0;
  float b = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

enum class Arithmetic { add, subtract, multiply, maximum, minimum };

// z = x op y, of one shape, or y is a suffix of x's and repeated over the rest.
struct ArithmeticOp {
  Arithmetic arithmetic = Arithmetic::add;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The product of the last axis with a matrix.

// y = activation(x . kernel + bias): x (..., in), kernel (in, out) and, where there is one,
// bias (out). The activation is one whose derivative follows from its result.
struct DenseOp {
  Activation activation = Activation::linear;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// A window that moves over the two spatial dimensions of images (batch, height, width, channels).
// What has one such dimension is an image of height 1.

struct Window {
  using Sizes = std::array<int64_t, 2>;  // of height and width

  Sizes size{1, 1};
  Sizes strides{1, 1};
  Sizes dilation{1, 1};  // from one element of the window to the next
  Sizes before{0, 0};    // what is padded
  Sizes after{0, 0};

  // What it covers of a dimension, with the elements that dilation leaves out.
  int64_t extent(size_t dimension) const { return (size[dimension] - 1) * dilation[dimension] + 1; }
  // Pads so that there are ceil(size / stride) windows, evenly, and where this cannot be with one
  // more after than before. `image` is (batch, height, width, channels).
  void pad_same(const Shape &image);
  // (batch, windows down, windows across, `channels`). Throws Code::invalid for an input that is no
  // image, or that has not room for one window.
  Shape over(const Shape &image, int64_t channels) const;
};

// The products of a kernel with every window of an image.

// y = activation(x * kernel + bias): x (batch, height, width, in), kernel (height, width,
// in / groups, out), bias (out) where there is one. Each of `groups` equal parts of the channels
// that go in makes its part of those that come out; with as many as there are channels in, it is a
// depthwise convolution. The activation is one whose derivative follows from its result.
struct ConvolutionOp {
  Window window;
  int64_t groups = 1;
  Activation activation = Activation::linear;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The largest or the mean of every window of an image.

enum class Pooling { max, average };

// Of each channel by itself. What is padded is no part of a window: neither the largest, nor
// counted in a mean. The gradient of equal ones that are the largest goes to the first of them.
struct PoolingOp {
  Pooling pooling = Pooling::max;
  Window window;  // without dilation

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Images and sequences made larger or smaller at their edges, or by repeating what is in them.

// So many zeros before and after what there is, for each axis; below zero is what is cut off.
struct PaddingOp {
  Shape before;
  Shape after;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Each element of an image (batch, height, width, channels) so often down and across.
struct RepeatingOp {
  int64_t down = 1;
  int64_t across = 1;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// An image as often larger down and across, its pixels between those that go in, by their
// distances: each is as large as several, with its middle where theirs is. At the edges the last
// one goes on.
struct InterpolatingOp {
  int64_t down = 1;
  int64_t across = 1;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Images turned, made larger or smaller and mirrored by chance, each in its own way.

// What stands beyond the edges of an image (a b c): "c b a | a b c | c b a", "a a a | a b c | c c
// c", "a b c | a b c | a b c", or the same number everywhere.
enum class Beyond { reflected, nearest, wrapped, constant };

// From where in an image (batch, height, width, channels) a place of the result is taken:
// (across, down) = (xx * column + xy * row + x, yx * column + yy * row + y).
struct ImagePlaces {
  float xx = 1, xy = 0, x = 0, yx = 0, yy = 1, y = 0;
};

// For training only. What is between pixels is made of the four around it, or is the nearest one.
struct RandomImageOp {
  enum class Change { mirror, turn, zoom };
  struct Range {
    float low = 0, high = 0;
  };

  Change change = Change::mirror;
  bool across = false;  // what is mirrored
  bool down = false;
  Range angle = {};                // in radians
  Range height = {}, width = {};   // of 1, and as much more is seen as it is larger
  bool keeps_proportions = false;  // the width is that of the height
  Beyond beyond = Beyond::reflected;
  float filling = 0;  // of `constant`
  bool takes_nearest = false;
  std::optional<uint64_t> seed = {};  // of the layer, in the place of the model's

  ArrayTypes infer(const ArrayTypes &inputs) const;
  // Of two numbers that are drawn for a record, from 0 to below 1.
  ImagePlaces places(float first, float second, int64_t rows, int64_t columns) const;
};

// The same elements elsewhere: other orders of axes, parts, and arrays side by side.

// y's axis i is x's axis permutation[i].
struct TransposeOp {
  std::vector<size_t> permutation;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Inputs side by side along an axis; their other sizes are the same.
struct ConcatenateOp {
  size_t axis = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// `size` of what there is along an axis, from `begin`.
struct SliceOp {
  size_t axis = 0;
  int64_t begin = 0;
  int64_t size = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The last of an axis first.
struct ReverseOp {
  size_t axis = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Repeats x along each axis where it has 1 and the shape another size; as many axes.
struct BroadcastOp {
  Shape shape;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Rows of a table by their numbers.

// y[...] = table[ids[...]]: ids (...) of I32, or of F32 of which the whole part counts; table
// (rows, features). An id that is no row is Code::invalid when it comes.
struct EmbeddingOp {
  ArrayTypes infer(const ArrayTypes &inputs) const;
  // The row that an id says. Throws Code::invalid, naming the record, where there is none.
  static size_t row_of(const Array &ids, size_t index, size_t rows);
  static void check(const Array &ids, size_t rows);
};

// Values with their mean taken off, divided by their deviation.

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, of each place along `axis` over all the
// rest: x, then where there are any gamma and beta, then the moving mean and the moving variance,
// each (sizes of the axis). While it is trained mean and variance are those of the batch, and
// forward() moves the two towards them: moving = moving * momentum + of the batch * (1 - momentum).
// Else they are what is taken. Behind those comes, where there is one, a mask of (batch, steps):
// what it leaves out with 0 has no part in the mean and the variance of the batch.
struct BatchNormalizationOp {
  size_t axis = 1;
  bool has_scale = true;
  bool has_center = true;
  bool is_training = false;
  // The moving variance is that of n / (n - 1), as Keras has it for images.
  bool is_unbiased = false;
  bool has_mask = false;
  float momentum = 0.99F;
  float epsilon = 1e-3F;

  // Where the moving mean is among the inputs; the moving variance is the next.
  size_t moving_mean() const { return 1U + (has_scale ? 1 : 0) + (has_center ? 1 : 0); }

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The same of each row of the last axis by itself: x, then where there are any gamma and beta.
struct LayerNormalizationOp {
  bool has_scale = true;
  bool has_center = true;
  float epsilon = 1e-3F;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// What attention is made of, beside softmax and transposed axes.

// c = scale * a . b of the last two axes, for each of the axes before them, which are the same:
// a (..., m, k), b (..., k, n); or with their last two axes exchanged.
struct BatchedMatMulOp {
  bool transpose_a = false;
  bool transpose_b = false;
  float scale = 1;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Takes 1e9 from the scores of what is not to be seen, as Keras does: scores (batch, heads,
// queries, keys); a mask, where there is one, of as many axes, with 0 for what is hidden and of
// size 1 where it is the same for all. If causal, the query q sees the keys 0 to q.
struct AttentionMaskOp {
  bool is_causal = false;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Some of what goes in left out, by chance.

DET_HOST_DEVICE constexpr float scale_of_kept(float rate) { return rate < 1 ? 1 / (1 - rate) : 0; }

// y is x / (1 - rate), or with the probability `rate` 0; for training only. Whether is drawn for
// each element, or for each channel of a record (the last axis), at every step anew.
struct DropoutOp {
  float rate = 0.5F;
  bool is_spatial = false;
  std::optional<uint64_t> seed = {};  // of the layer, in the place of the model's

  DET_HOST_DEVICE float scale() const { return scale_of_kept(rate); }
  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// What all back ends draw, so that they leave out the same: draw number `index` of one operation at
// one step. The streams of operations lie above those of first values.
class DropoutDraws {
 public:
  DET_HOST_DEVICE DropoutDraws(uint64_t seed, uint64_t operation, uint64_t step)
      : seed_(seed), stream_(((operation + 1) << 40U) + step) {}

  // What draws number 4 * `four` and the three after it are made of: uniform_from() of each.
  DET_HOST_DEVICE std::array<uint32_t, 4> words(uint64_t four) const {
    return philox(seed_, stream_, four);
  }

  DET_HOST_DEVICE bool is_kept(uint64_t index, float rate) {
    if (index / 4 != at_ || !is_drawn_) {
      words_ = words(at_ = index / 4);
      is_drawn_ = true;
    }
    return uniform_from(words_[index % 4]) >= rate;
  }
  // What an element is multiplied by.
  DET_HOST_DEVICE float factor(uint64_t index, float rate) {
    return is_kept(index, rate) ? scale_of_kept(rate) : 0;
  }

 private:
  const uint64_t seed_, stream_;
  std::array<uint32_t, 4> words_{};
  uint64_t at_ = 0;
  bool is_drawn_ = false;
};

// Recurrent layers over whole sequences.

// In: x (batch, steps, features), kernel (features, gates * units), recurrent kernel (units,
// gates * units) and, where there is one, a bias. The gates lie side by side in Keras' order.
// Out: the states after each step (batch, steps, units), in the order of the steps, and the last
// one (batch, units). Backwards, the first step takes the last of x.

// What is left out in training, by chance, before the products with the kernels: for each gate
// other elements of x and of the states, the same at all steps of a record. Draws, as of
// DropoutDraws: (gates, batch, features) of x, then (gates, batch, units) of the states.
struct GateDropout {
  float of_x = 0;  // rates below 1
  float of_states = 0;

  explicit operator bool() const { return of_x > 0 || of_states > 0; }
};

// What goes in behind the others. Steps of a record whose mask, (batch, steps), is 0 leave states
// as they were: what comes out of them is what came out before, at first zeros, or zeros each time.
// Without states of which the first step is taken, (batch, units) of each kind, they are zeros.
struct RecurrentExtras {
  bool has_mask = false;
  bool zeroes_masked = false;
  size_t states = 0;

  explicit operator bool() const { return has_mask || states > 0; }
  size_t inputs() const { return (has_mask ? 1 : 0) + states; }
};

// Gates: input, forget, cell, output. The bias is (4 * units). The last cell comes out as well.
struct LstmOp {
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;
  bool goes_backwards = false;
  GateDropout dropout = {};
  RecurrentExtras extras = {};

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Gates: update, reset, candidate. Reset after the product with the recurrent kernel, the bias is
// (2, 3 * units), the second of which belongs to that product; before it, (3 * units).
struct GruOp {
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;
  bool goes_backwards = false;
  bool resets_after = true;
  GateDropout dropout = {};
  RecurrentExtras extras = {};

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// One gate: the state itself. The bias is (units).
struct SimpleRnnOp {
  Activation activation = Activation::tanh;
  bool goes_backwards = false;
  GateDropout dropout = {};
  RecurrentExtras extras = {};

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// What a step makes smaller.

// The sum over rows of weight * -log(softmax(logits)[label]), divided by the number of rows:
// logits (..., classes), labels (...) of I32 from 0 and, where there are any, weights (...).
// A single number comes out. A row with a label that is no class counts as NaN.
struct SparseCrossEntropyOp {
  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The same of rows that are probabilities, or with a label whose rows do not count. The weights may
// be one for each record, that is for several rows.
struct SparseLossOp {
  bool from_logits = false;
  std::optional<int32_t> ignored_label;
  bool is_sum = false;  // not divided by the number of rows

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The sum over rows of weight * function, divided by the number of rows: predictions (..., n), what
// is true of the same shape and, where there are any, weights for each row or record. A single
// number comes out.
struct LossOp {
  LossFunction function;
  bool is_sum = false;  // not divided by the number of rows

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// What a regularizer adds to the loss.

// Of all elements of a weight, or of what a layer gives: a single number. At 0 the gradient of |w|
// is 0.
struct RegularizationOp {
  Regularizer regularizer;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Numbers of fewer bits: what layers of mixed precision are computed with.

// y = x as this type has it, rounded to the nearest, ties to even, and kept in F32; of any shape.
// What F16 cannot hold becomes infinite. The gradient is rounded likewise: that of a number is of
// the number's type. A back end that has the type may join this to the operation before or after.
struct RoundingOp {
  Dtype to = Dtype::bf16;  // or Dtype::f16

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

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
