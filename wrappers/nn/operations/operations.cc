#include "wrappers/nn/operations/operations.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace det::nn {

namespace {

void expect_inputs(const ArrayTypes &inputs, size_t fewest, size_t most, const char *operation) {
  if (inputs.size() < fewest || inputs.size() > most)
    throw Error(Code::internal, std::string("adding the operation ") + operation + ": it has " +
                                    std::to_string(inputs.size()) + " inputs");
}

void expect_shape(const ArrayType &type, const Shape &expected, const std::string &what) {
  if (type.shape != expected)
    throw Error(Code::invalid, what + " has the shape " + text_of(type.shape) + ", where only " +
                                   text_of(expected) + " fits");
}

void expect_float(const ArrayType &type, const std::string &what) {
  if (type.dtype != Dtype::f32)
    throw Error(Code::invalid, what + " is an array of " + tensors::name_of(type.dtype) +
                                   "; this is computed in F32 only");
}

void expect_one_input(const ArrayTypes &inputs, const char *operation) {
  expect_inputs(inputs, 1, 1, operation);
  expect_float(inputs[0], "the input");
}

}  // namespace

ArrayTypes ActivationOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "activation");
  return inputs;
}

ArrayTypes ReluOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "relu");
  return inputs;
}

ArrayTypes ScaleOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "scale");
  return inputs;
}

ArrayTypes SoftmaxOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "softmax");
  if (inputs[0].shape.size() < 2)
    throw Error(Code::invalid, "a softmax needs an axis beside that of the batch; the input has " +
                                   text_of(inputs[0].shape));
  return inputs;
}

ArrayTypes ReshapeOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "reshape");
  if (elements_of(inputs[0].shape) != elements_of(shape))
    throw Error(Code::invalid, "an input of " + text_of(inputs[0].shape) +
                                   " has not as many elements as " + text_of(shape));
  return {{shape, inputs[0].dtype}};
}

ArrayTypes FunctionOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "function");
  if (inputs[0].dtype != Dtype::i32) expect_float(inputs[0], "the input");
  return {{inputs[0].shape, function == Function::whole ? Dtype::i32 : Dtype::f32}};
}

ArrayTypes ArithmeticOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 2, "arithmetic");
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  const Shape &y = inputs[1].shape;
  if (y.size() > x.size() || !std::equal(y.rbegin(), y.rend(), x.rbegin()))
    throw Error(Code::invalid,
                "inputs of " + text_of(x) + " and " + text_of(y) + " do not fit together");
  return {inputs[0]};
}

ArrayTypes DenseOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "dense");
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  const Shape &kernel = inputs[1].shape;
  if (x.empty() || kernel.size() != 2 || x.back() != kernel[0])
    throw Error(Code::invalid, "an input of " + text_of(x) + " has not the " +
                                   std::to_string(kernel.empty() ? 0 : kernel[0]) +
                                   " features of the kernel " + text_of(kernel));
  if (inputs.size() == 3) expect_shape(inputs[2], {kernel[1]}, "the bias");
  Shape y = x;
  y.back() = kernel[1];
  return {{y, Dtype::f32}};
}

namespace {

void expect_image(const Shape &shape) {
  if (shape.size() != 4)
    throw Error(Code::invalid, "an input of " + text_of(shape) +
                                   " is no batch of images: height, width and channels");
}

}  // namespace

void Window::pad_same(const Shape &image) {
  expect_image(image);
  for (size_t d = 0; d < 2; ++d) {
    const int64_t in = image[d + 1];
    const int64_t windows = (in + strides[d] - 1) / strides[d];
    const int64_t padded = std::max<int64_t>((windows - 1) * strides[d] + extent(d) - in, 0);
    before[d] = padded / 2;
    after[d] = padded - padded / 2;
  }
}

Shape Window::over(const Shape &image, int64_t channels) const {
  expect_image(image);
  Shape shape{image[0], 0, 0, channels};
  for (size_t d = 0; d < 2; ++d) {
    if (size[d] < 1 || strides[d] < 1 || dilation[d] < 1 || before[d] < 0 || after[d] < 0 ||
        before[d] >= extent(d) || after[d] >= extent(d))
      throw Error(Code::invalid, "a window of " + text_of({size[0], size[1]}) +
                                     " has a stride, dilation or padding that cannot be");
    const int64_t room = image[d + 1] + before[d] + after[d] - extent(d);
    if (room < 0 || image[d + 1] < 1)
      throw Error(Code::invalid, "an input of " + text_of(image) +
                                     " has not room for a window of " +
                                     text_of({extent(0), extent(1)}));
    shape[d + 1] = room / strides[d] + 1;
  }
  return shape;
}

ArrayTypes ConvolutionOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "convolution");
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  const Shape &kernel = inputs[1].shape;
  if (kernel.size() != 4 || kernel[0] != window.size[0] || kernel[1] != window.size[1])
    throw Error(Code::invalid, "a kernel of " + text_of(kernel) + " does not fit a window of " +
                                   text_of({window.size[0], window.size[1]}));
  Shape y = window.over(x, kernel[3]);
  if (groups < 1 || x[3] % groups != 0 || kernel[3] % groups != 0 || kernel[2] != x[3] / groups)
    throw Error(Code::invalid, "an input of " + text_of(x) + " does not fit the kernel " +
                                   text_of(kernel) + " in " + std::to_string(groups) + " groups");
  if (inputs.size() == 3) expect_shape(inputs[2], {kernel[3]}, "the bias");
  return {{y, Dtype::f32}};
}

ArrayTypes PoolingOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "pooling");
  const Shape &x = inputs[0].shape;
  if (window.dilation != Window::Sizes{1, 1})
    throw Error(Code::internal, "adding the operation pooling: its window is dilated");
  return {{window.over(x, x.empty() ? 0 : x.back()), Dtype::f32}};
}

ArrayTypes PaddingOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "padding");
  Shape y = inputs[0].shape;
  if (before.size() != y.size() || after.size() != y.size())
    throw Error(Code::invalid, "an input of " + text_of(y) + " has not " +
                                   std::to_string(before.size()) + " axes");
  for (size_t axis = 0; axis < y.size(); ++axis) {
    y[axis] += before[axis] + after[axis];
    if (y[axis] < 0)
      throw Error(Code::invalid, "an input of " + text_of(inputs[0].shape) +
                                     " is smaller than what is to be cut off");
  }
  elements_of(y);
  return {{y, Dtype::f32}};
}

namespace {

ArrayTypes enlarged(const ArrayTypes &inputs, int64_t down, int64_t across, const char *operation) {
  expect_one_input(inputs, operation);
  Shape y = inputs[0].shape;
  if (y.size() != 4)
    throw Error(Code::invalid, "an input of " + text_of(y) + " is no batch of images");
  if (down < 1 || across < 1)
    throw Error(Code::internal,
                std::string("adding the operation ") + operation + ": less than once");
  y[1] = elements_of({y[1], down});
  y[2] = elements_of({y[2], across});
  elements_of(y);
  return {{y, Dtype::f32}};
}

}  // namespace

ArrayTypes RepeatingOp::infer(const ArrayTypes &inputs) const {
  return enlarged(inputs, down, across, "repeating");
}

ArrayTypes InterpolatingOp::infer(const ArrayTypes &inputs) const {
  return enlarged(inputs, down, across, "interpolating");
}

ArrayTypes RandomImageOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "random image");
  if (inputs[0].shape.size() != 4)
    throw Error(Code::invalid,
                "an input of " + text_of(inputs[0].shape) + " is no batch of images");
  return inputs;
}

ImagePlaces RandomImageOp::places(float first, float second, int64_t rows, int64_t columns) const {
  const auto right = static_cast<float>(columns - 1), bottom = static_cast<float>(rows - 1);
  const auto within = [](const Range &range, float at) {
    return range.low + (range.high - range.low) * at;
  };
  ImagePlaces at;
  switch (change) {
    case Change::mirror:
      if (across && first < 0.5F) at.xx = -1, at.x = right;
      if (down && second < 0.5F) at.yy = -1, at.y = bottom;
      break;
    case Change::turn: {
      const float angle_drawn = within(angle, first);
      at.xx = at.yy = std::cos(angle_drawn);
      at.yx = std::sin(angle_drawn);
      at.xy = -at.yx;
      at.x = (right - (at.xx * right + at.xy * bottom)) / 2;
      at.y = (bottom - (at.yx * right + at.yy * bottom)) / 2;
      break;
    }
    case Change::zoom:
      at.yy = within(height, first);
      at.xx = keeps_proportions ? at.yy : within(width, second);
      at.x = right / 2 * (1 - at.xx);
      at.y = bottom / 2 * (1 - at.yy);
      break;
  }
  return at;
}

namespace {

void expect_axis(const ArrayType &type, size_t axis) {
  if (axis >= type.shape.size())
    throw Error(Code::invalid,
                "there is no axis " + std::to_string(axis) + " in " + text_of(type.shape));
}

}  // namespace

ArrayTypes TransposeOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "transpose");
  const Shape &x = inputs[0].shape;
  std::vector<size_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool has_each_once = sorted.size() == x.size();
  for (size_t i = 0; has_each_once && i < sorted.size(); ++i) has_each_once = sorted[i] == i;
  if (!has_each_once)
    throw Error(Code::invalid, "the new order does not have each axis of " + text_of(x) + " once");
  Shape y;
  for (const size_t axis : permutation) y.push_back(x[axis]);
  return {{y, Dtype::f32}};
}

ArrayTypes ConcatenateOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, inputs.size(), "concatenate");
  ArrayType joined = inputs[0];
  expect_axis(joined, axis);
  joined.shape[axis] = 0;
  for (const ArrayType &input : inputs) {
    expect_float(input, "an input");
    Shape others = input.shape;
    if (axis < others.size()) others[axis] = joined.shape[axis];
    if (others != joined.shape)
      throw Error(Code::invalid, "inputs of " + text_of(inputs[0].shape) + " and " +
                                     text_of(input.shape) + " do not fit side by side along axis " +
                                     std::to_string(axis));
    joined.shape[axis] += input.shape[axis];
    elements_of(joined.shape);  // many could add up to more than there can be
  }
  return {joined};
}

ArrayTypes SliceOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "slice");
  expect_axis(inputs[0], axis);
  ArrayType part = inputs[0];
  if (begin < 0 || size < 0 || begin > part.shape[axis] || size > part.shape[axis] - begin)
    throw Error(Code::invalid, text_of(part.shape) + " has not " + std::to_string(size) +
                                   " from number " + std::to_string(begin) + " of axis " +
                                   std::to_string(axis));
  part.shape[axis] = size;
  return {part};
}

ArrayTypes ReverseOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "reverse");
  expect_axis(inputs[0], axis);
  return inputs;
}

ArrayTypes BroadcastOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "broadcast");
  const Shape &x = inputs[0].shape;
  bool fits = x.size() == shape.size();
  for (size_t i = 0; fits && i < x.size(); ++i) fits = x[i] == shape[i] || x[i] == 1;
  if (!fits)
    throw Error(Code::invalid,
                "an input of " + text_of(x) + " cannot be repeated to " + text_of(shape));
  return {{shape, Dtype::f32}};
}

ArrayTypes EmbeddingOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 2, "embedding");
  if (inputs[0].dtype != Dtype::i32) expect_float(inputs[0], "the array of ids");
  expect_float(inputs[1], "the table");
  if (inputs[0].shape.empty() || inputs[1].shape.size() != 2)
    throw Error(Code::invalid, "ids of " + text_of(inputs[0].shape) + " choose no rows of " +
                                   text_of(inputs[1].shape));
  Shape y = inputs[0].shape;
  y.push_back(inputs[1].shape[1]);
  return {{y, Dtype::f32}};
}

size_t EmbeddingOp::row_of(const Array &ids, size_t index, size_t rows) {
  const auto refuse = [&](auto id) {
    const size_t ids_per_record = ids.size() / static_cast<size_t>(ids.shape()[0]);
    throw Error(Code::invalid, "an id of record " + std::to_string(index / ids_per_record) +
                                   " is " + std::to_string(id) + "; there are 0 to " +
                                   std::to_string(rows - 1));
  };
  if (ids.dtype() == Dtype::i32) {
    const int32_t id = ids.data<int32_t>()[index];
    if (id < 0 || static_cast<size_t>(id) >= rows) refuse(id);
    return static_cast<size_t>(id);
  }
  // Not a number fits no comparison.
  const float id = ids.data()[index];
  if (!(id > -1 && id < static_cast<float>(rows))) refuse(id);
  return static_cast<size_t>(id);
}

void EmbeddingOp::check(const Array &ids, size_t rows) {
  for (size_t i = 0; i < ids.size(); ++i) row_of(ids, i, rows);
}

namespace {

ArrayTypes infer_normalized(const ArrayTypes &inputs, size_t axis) {
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  if (axis < 1 || axis >= x.size())
    throw Error(Code::invalid, "an input of " + text_of(x) + " has no axis to be normalized");
  for (size_t i = 1; i < inputs.size(); ++i)
    expect_shape(inputs[i], {x[axis]}, "a weight of the normalization");
  return {inputs[0]};
}

}  // namespace

ArrayTypes BatchNormalizationOp::infer(const ArrayTypes &inputs) const {
  const size_t count = moving_mean() + 2U + (has_mask ? 1 : 0);
  expect_inputs(inputs, count, count, "batch normalization");
  if (!has_mask) return infer_normalized(inputs, axis);
  const Shape &x = inputs[0].shape;
  if (x.size() != 3)
    throw Error(Code::unsupported,
                "batch normalization with a mask takes an input of the axes batch, steps and "
                "features, not " +
                    text_of(x));
  expect_float(inputs.back(), "the mask");
  expect_shape(inputs.back(), {x[0], x[1]}, "the mask");
  return infer_normalized({inputs.begin(), inputs.end() - 1}, axis);
}

ArrayTypes LayerNormalizationOp::infer(const ArrayTypes &inputs) const {
  const size_t count = 1U + (has_scale ? 1 : 0) + (has_center ? 1 : 0);
  expect_inputs(inputs, count, count, "layer normalization");
  return infer_normalized(inputs, inputs[0].shape.size() - 1);
}

ArrayTypes BatchedMatMulOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 2, "batched matrix product");
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  Shape a = inputs[0].shape;
  Shape b = inputs[1].shape;
  const auto exchange = [](Shape &shape) { std::swap(shape.back(), shape[shape.size() - 2]); };
  const size_t rank = a.size();
  if (rank >= 2 && rank == b.size()) {
    if (transpose_a) exchange(a);
    if (transpose_b) exchange(b);
    const auto batches = static_cast<std::ptrdiff_t>(rank - 2);
    if (a[rank - 1] == b[rank - 2] && std::equal(a.begin(), a.begin() + batches, b.begin())) {
      a.back() = b.back();
      return {{a, Dtype::f32}};
    }
  }
  throw Error(Code::invalid, "there is no product of " + text_of(inputs[0].shape) +
                                 (transpose_a ? " transposed" : "") + " and " +
                                 text_of(inputs[1].shape) + (transpose_b ? " transposed" : ""));
}

ArrayTypes AttentionMaskOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 2, "attention mask");
  expect_float(inputs[0], "the scores");
  const Shape &scores = inputs[0].shape;
  if (scores.size() != 4)
    throw Error(Code::invalid, "scores of " + text_of(scores) + " have not four axes");
  if (inputs.size() == 1) return inputs;
  const Shape &mask = inputs[1].shape;
  bool fits = mask.size() == scores.size() && inputs[1].dtype == Dtype::i32;
  for (size_t i = 0; fits && i < mask.size(); ++i) fits = mask[i] == scores[i] || mask[i] == 1;
  if (!fits)
    throw Error(Code::invalid, "the mask, of " + text_of(mask) + " and " +
                                   tensors::name_of(inputs[1].dtype) + ", does not fit scores of " +
                                   text_of(scores) + "; it is to be whole numbers or BOOL");
  return {inputs[0]};
}

ArrayTypes DropoutOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "dropout");
  if (inputs[0].shape.size() < 2 && is_spatial)
    throw Error(Code::invalid,
                "an input of " + text_of(inputs[0].shape) + " has no channels to leave out");
  return inputs;
}

namespace {

// `last_states` of what is kept from one step to the next.
ArrayTypes infer_recurrent(const ArrayTypes &inputs, const char *operation, int64_t gates,
                           bool has_two_biases, size_t last_states, const RecurrentExtras &extras) {
  expect_inputs(inputs, 3 + extras.inputs(), 4 + extras.inputs(), operation);
  const size_t first_extra = inputs.size() - extras.inputs();
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  const Shape &recurrent = inputs[2].shape;
  if (x.size() != 3 || x[1] < 1)
    throw Error(Code::invalid, "an input of " + text_of(x) +
                                   " is no batch of sequences: it needs the axes batch, steps (one "
                                   "at least) and features");
  if (recurrent.size() != 2 || recurrent[1] != gates * recurrent[0])
    throw Error(Code::invalid, "a recurrent kernel of " + text_of(recurrent) + " has not " +
                                   std::to_string(gates) + " gates for each unit");
  const int64_t units = recurrent[0];
  expect_shape(inputs[1], {x[2], gates * units}, "the kernel");
  if (first_extra == 4)
    expect_shape(inputs[3], has_two_biases ? Shape{2, gates * units} : Shape{gates * units},
                 "the bias");
  if (extras.has_mask) expect_shape(inputs[first_extra], {x[0], x[1]}, "the mask");
  for (size_t i = inputs.size() - extras.states; i < inputs.size(); ++i)
    expect_shape(inputs[i], {x[0], units}, "a state to begin with");
  ArrayTypes outputs{{{x[0], x[1], units}, Dtype::f32}};
  outputs.insert(outputs.end(), last_states, {{x[0], units}, Dtype::f32});
  return outputs;
}

}  // namespace

ArrayTypes LstmOp::infer(const ArrayTypes &inputs) const {
  return infer_recurrent(inputs, "LSTM", 4, false, 2, extras);
}

ArrayTypes GruOp::infer(const ArrayTypes &inputs) const {
  return infer_recurrent(inputs, "GRU", 3, resets_after, 1, extras);
}

ArrayTypes SimpleRnnOp::infer(const ArrayTypes &inputs) const {
  return infer_recurrent(inputs, "simple RNN", 1, false, 1, extras);
}

namespace {

// What a prediction has besides its last axis.
Shape rows_of(const ArrayType &prediction) {
  expect_float(prediction, "the prediction");
  Shape rows = prediction.shape;
  if (rows.size() < 2)
    throw Error(Code::invalid,
                "a prediction of " + text_of(rows) + " has no axis of classes beside its batch");
  rows.pop_back();
  return rows;
}

void expect_labels(const ArrayType &labels, const Shape &rows) {
  expect_shape(labels, rows, "the labels array");
  if (labels.dtype != Dtype::i32)
    throw Error(Code::invalid, std::string("labels of ") + tensors::name_of(labels.dtype) +
                                   " are not taken here; I32 are");
}

void expect_weights(const ArrayType &weights, const Shape &rows) {
  const Shape &shape = weights.shape;
  if (shape.empty() || shape.size() > rows.size() ||
      !std::equal(shape.begin(), shape.end(), rows.begin()))
    throw Error(Code::invalid, "weights of " + text_of(shape) + " do not fit predictions of " +
                                   text_of(rows) + ", by rows or by records");
}

const ArrayTypes single_number{{{}, Dtype::f32}};

}  // namespace

ArrayTypes SparseCrossEntropyOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "sparse cross entropy");
  const Shape rows = rows_of(inputs[0]);
  expect_labels(inputs[1], rows);
  if (inputs.size() == 3) expect_shape(inputs[2], rows, "the array of weights");
  return single_number;
}

ArrayTypes SparseLossOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "sparse cross entropy");
  const Shape rows = rows_of(inputs[0]);
  expect_labels(inputs[1], rows);
  if (inputs.size() == 3) expect_weights(inputs[2], rows);
  return single_number;
}

ArrayTypes LossOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "a loss");
  const Shape rows = rows_of(inputs[0]);
  expect_float(inputs[1], "what is true");
  expect_shape(inputs[1], inputs[0].shape, "the array of what is true");
  if (inputs.size() == 3) expect_weights(inputs[2], rows);
  return single_number;
}

ArrayTypes RegularizationOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "regularization");
  expect_float(inputs[0], "what is regularized");
  return {{{}, Dtype::f32}};
}

ArrayTypes RoundingOp::infer(const ArrayTypes &inputs) const {
  expect_one_input(inputs, "rounding");
  if (to != Dtype::bf16 && to != Dtype::f16)
    throw Error(Code::internal, std::string("rounding to ") + tensors::name_of(to));
  return inputs;
}

}  // namespace det::nn
