// Operations of the layers engine against oneDNN's own primitives for the same, as its benchmark
// calls those: in whichever layouts they like best, already laid out. Forward and all ways
// backward; both use as many threads. The medians of turns that go round. Of what the engine
// computes by loops of its own the plain loops of 'reference' are measured, too.
#include <cmath>
#include <functional>

#include "tests/bench/measure.h"
#include "tests/bench/row.h"
#include "wrappers/nn/arithmetic/random_stream.h"
#include "wrappers/nn/backend.h"
#include "wrappers/nn/onednn/onednn_primitive.h"

using namespace det::nn;

namespace {

constexpr double goal = 1 / 0.9;  // of oneDNN's speed
constexpr int turns = 7;
const auto context = std::make_shared<OnednnContext>(0);

MemoryDesc any_of(const Shape &dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

void fill(float *values, size_t count) {
  RandomStream random(3, 1);
  for (size_t i = 0; i < count; ++i) values[i] = random.uniform(-1, 1);
}

// A primitive on memory of its own.
class Primitive {
 public:
  template <class Prepared>
  Primitive(const dnnl::primitive &primitive, const Prepared &prepared)
      : made_(context, primitive, prepared.scratchpad_desc()) {}

  Primitive &with(int argument, const MemoryDesc &desc) {
    const auto floats = static_cast<int64_t>(desc.get_size() / sizeof(float));
    arrays_.emplace_back(ArrayType{{floats}, Dtype::f32});
    fill(arrays_.back().data(), arrays_.back().size());
    made_.with(argument, desc, arrays_.back().raw());
    return *this;
  }
  void run() const { made_.run(); }

 private:
  OnednnPrimitive made_;
  std::vector<Array> arrays_;
};

// The engine's kernel, of one operation on arrays of its own.
class EngineKernel {
 public:
  EngineKernel(const Operation &operation, const ArrayTypes &inputs, const char *backend = "onednn")
      : backend_(open_backend(backend)) {
    Operands operands;
    operands.state = &state_;
    for (const ArrayType &type : inputs) {
      operands.inputs.emplace_back(type);
      operands.input_gradients.emplace_back(type);
      if (type.dtype == Dtype::f32)
        fill(operands.inputs.back().data(), operands.inputs.back().size());
    }
    for (const ArrayType &type : infer(operation, inputs)) {
      operands.outputs.emplace_back(type);
      operands.output_gradients.emplace_back(type);
      fill(operands.output_gradients.back().data(), operands.output_gradients.back().size());
    }
    kernel_ = backend_->make(operation, operands);
  }
  void step() const {
    kernel_->forward();
    kernel_->backward();
  }

 private:
  const StepState state_;
  const std::shared_ptr<Backend> backend_;
  std::unique_ptr<Kernel> kernel_;
};

void compare(const std::string &name, const std::vector<Primitive> &primitives,
             const EngineKernel &engine) {
  const auto theirs_step = [&](size_t) {
    for (const Primitive &primitive : primitives) primitive.run();
  };
  const auto ours_step = [&](size_t) { engine.step(); };
  std::vector<int64_t> ours, theirs;
  for (int turn = 0; turn < turns; ++turn) {
    theirs.push_back(bench::measure(20, 0, theirs_step).median);
    ours.push_back(bench::measure(20, 0, ours_step).median);
  }
  const auto our_time = static_cast<double>(bench::distribution(ours).median);
  const auto their_time = static_cast<double>(bench::distribution(theirs).median);
  bench_row(name.c_str(), our_time / 1e9, "oneDNN's primitives", their_time / 1e9, "s", goal);
}

// oneDNN's fully connected layer: the same as a dense one, with its bias.
struct InnerProduct {
  dnnl::inner_product_forward::primitive_desc forward;
  dnnl::inner_product_backward_data::primitive_desc of_input;
  dnnl::inner_product_backward_weights::primitive_desc of_kernel;
};

InnerProduct describe_inner_product(int64_t rows, int64_t in, int64_t out) {
  using dnnl::prop_kind;
  const MemoryDesc x = any_of({rows, in}), y = any_of({rows, out}), kernel = any_of({out, in}),
                   bias = any_of({out});
  const dnnl::engine &engine = context->engine;
  const dnnl::primitive_attr attributes = usual_attributes();
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::inner_product_forward::primitive_desc forward(engine, prop_kind::forward_training, x,
                                                            kernel, bias, y, attributes);
  return {forward,
          {engine, x, kernel, y, forward, attributes},
          {engine, x, kernel, bias, y, forward, attributes}};
#else
  const dnnl::inner_product_forward::primitive_desc forward(
      {prop_kind::forward_training, x, kernel, bias, y}, attributes, engine);
  return {forward,
          {{x, kernel, y}, attributes, engine, forward},
          {{x, kernel, bias, y}, attributes, engine, forward}};
#endif
}

void dense(int64_t rows, int64_t in, int64_t out) {
  const auto [forward, of_input, of_kernel] = describe_inner_product(rows, in, out);
  std::vector<Primitive> primitives;
  primitives.emplace_back(dnnl::inner_product_forward(forward), forward)
      .with(DNNL_ARG_SRC, forward.src_desc())
      .with(DNNL_ARG_WEIGHTS, forward.weights_desc())
      .with(DNNL_ARG_BIAS, forward.bias_desc())
      .with(DNNL_ARG_DST, forward.dst_desc());
  primitives.emplace_back(dnnl::inner_product_backward_data(of_input), of_input)
      .with(DNNL_ARG_DIFF_DST, of_input.diff_dst_desc())
      .with(DNNL_ARG_WEIGHTS, of_input.weights_desc())
      .with(DNNL_ARG_DIFF_SRC, of_input.diff_src_desc());
  primitives.emplace_back(dnnl::inner_product_backward_weights(of_kernel), of_kernel)
      .with(DNNL_ARG_SRC, of_kernel.src_desc())
      .with(DNNL_ARG_DIFF_DST, of_kernel.diff_dst_desc())
      .with(DNNL_ARG_DIFF_WEIGHTS, of_kernel.diff_weights_desc())
      .with(DNNL_ARG_DIFF_BIAS, of_kernel.diff_bias_desc());
  compare("dense " + text_of(Shape{rows, in, out}), primitives,
          {DenseOp{}, {{{rows, in}}, {{in, out}}, {{out}}}});
}

void product(int64_t count, int64_t rows, int64_t in, int64_t out) {
  std::vector<Primitive> primitives;
  const auto add = [&](int64_t m, int64_t k, int64_t n) {
    const auto prepared =
        describe_product(context->engine, any_of({count, m, k}), any_of({count, k, n}),
                         MemoryDesc(), any_of({count, m, n}), usual_attributes());
    primitives.emplace_back(dnnl::matmul(prepared), prepared)
        .with(DNNL_ARG_SRC, prepared.src_desc())
        .with(DNNL_ARG_WEIGHTS, prepared.weights_desc())
        .with(DNNL_ARG_DST, prepared.dst_desc());
  };
  add(rows, in, out);
  add(rows, out, in);
  add(in, rows, out);
  compare("product " + text_of(Shape{count, rows, in, out}), primitives,
          {BatchedMatMulOp{}, {{{count, rows, in}}, {{count, in, out}}}});
}

void convolution(int64_t batch, int64_t side, int64_t in, int64_t out, int64_t size) {
  const int64_t result = side - size + 1;
  const Shape x{batch, in, side, side}, y{batch, out, result, result}, kernel{out, in, size, size};
  const ConvolutionShape shape{{1, 1}, {0, 0}, {0, 0}, {0, 0}};
  const auto forward = describe_convolution(context->engine, shape, any_of(x), any_of(kernel),
                                            any_of({out}), any_of(y), usual_attributes());
  const auto of_input = describe_convolution_of_input(
      context->engine, shape, any_of(x), any_of(kernel), any_of(y), forward, usual_attributes());
  const auto of_kernel =
      describe_convolution_of_kernel(context->engine, shape, any_of(x), any_of(kernel),
                                     any_of({out}), any_of(y), forward, usual_attributes());
  std::vector<Primitive> primitives;
  primitives.emplace_back(dnnl::convolution_forward(forward), forward)
      .with(DNNL_ARG_SRC, forward.src_desc())
      .with(DNNL_ARG_WEIGHTS, forward.weights_desc())
      .with(DNNL_ARG_BIAS, forward.bias_desc())
      .with(DNNL_ARG_DST, forward.dst_desc());
  primitives.emplace_back(dnnl::convolution_backward_data(of_input), of_input)
      .with(DNNL_ARG_DIFF_DST, of_input.diff_dst_desc())
      .with(DNNL_ARG_WEIGHTS, of_input.weights_desc())
      .with(DNNL_ARG_DIFF_SRC, of_input.diff_src_desc());
  primitives.emplace_back(dnnl::convolution_backward_weights(of_kernel), of_kernel)
      .with(DNNL_ARG_SRC, of_kernel.src_desc())
      .with(DNNL_ARG_DIFF_DST, of_kernel.diff_dst_desc())
      .with(DNNL_ARG_DIFF_WEIGHTS, of_kernel.diff_weights_desc())
      .with(DNNL_ARG_DIFF_BIAS, of_kernel.diff_bias_desc());
  ConvolutionOp op;
  op.window.size = {size, size};
  const auto text = std::to_string(batch) + " of " + std::to_string(side) + "^2 x " +
                    std::to_string(in) + " to " + std::to_string(out) + ", " +
                    std::to_string(size) + "^2";
  compare("convolution " + text, primitives,
          {op, {{{batch, side, side, in}}, {{size, size, in, out}}, {{out}}}});
}

// An operation that the engine computes by loops of its own: without `primitives` there is none for
// it.
void compare_loops(const std::string &name, const std::vector<Primitive> &primitives,
                   const Operation &operation, const ArrayTypes &inputs) {
  const EngineKernel engine(operation, inputs), plain(operation, inputs, "reference");
  std::vector<int64_t> ours, plains, theirs;
  for (int turn = 0; turn < turns; ++turn) {
    ours.push_back(bench::measure(20, 0, [&](size_t) { engine.step(); }).median);
    plains.push_back(bench::measure(20, 0, [&](size_t) { plain.step(); }).median);
    theirs.push_back(bench::measure(20, 0, [&](size_t) {
                       for (const Primitive &primitive : primitives) primitive.run();
                     }).median);
  }
  const auto print_beside = [&](const char *rival, std::vector<int64_t> &times) {
    bench_row(name.c_str(), static_cast<double>(bench::distribution(ours).median) / 1e9, rival,
              static_cast<double>(bench::distribution(times).median) / 1e9, "s", 0);
  };
  print_beside("plain loops", plains);
  if (!primitives.empty()) print_beside("oneDNN's primitives", theirs);
}

MemoryDesc plain_of(const Shape &dims, dnnl::memory::format_tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

// oneDNN 3 is told of the result as well, and of what windows leave out.
#if DNNL_VERSION_MAJOR >= 3
#define OF_ONEDNN_3(part) part,
#else
#define OF_ONEDNN_3(part)
#endif

template <class Forward, class Backward>
std::vector<Primitive> normalization(const MemoryDesc &x, const MemoryDesc &weights) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const auto forward =
      describe<Forward>(context->engine, usual_attributes(), dnnl::prop_kind::forward_training, x,
                        OF_ONEDNN_3(x) 1e-3F, flags);
  const auto backward =
      describe_gradient<Backward>(context->engine, usual_attributes(), forward,
                                  dnnl::prop_kind::backward, x, x, OF_ONEDNN_3(x) 1e-3F, flags);
  std::vector<Primitive> primitives;
  primitives.emplace_back(Forward(forward), forward)
      .with(DNNL_ARG_SRC, x)
      .with(DNNL_ARG_DST, x)
      .with(DNNL_ARG_MEAN, forward.mean_desc())
      .with(DNNL_ARG_VARIANCE, forward.variance_desc())
      .with(DNNL_ARG_SCALE, weights)
      .with(DNNL_ARG_SHIFT, weights);
  primitives.emplace_back(Backward(backward), backward)
      .with(DNNL_ARG_SRC, x)
      .with(DNNL_ARG_DIFF_DST, x)
      .with(DNNL_ARG_DIFF_SRC, x)
      .with(DNNL_ARG_MEAN, forward.mean_desc())
      .with(DNNL_ARG_VARIANCE, forward.variance_desc())
      .with(DNNL_ARG_SCALE, weights)
      .with(DNNL_ARG_SHIFT, weights)
      .with(DNNL_ARG_DIFF_SCALE, weights)
      .with(DNNL_ARG_DIFF_SHIFT, weights);
  return primitives;
}

void batch_normalization(int64_t batch, int64_t side, int64_t channels) {
  const MemoryDesc x = plain_of({batch, channels, side, side}, dnnl::memory::format_tag::nhwc);
  BatchNormalizationOp op;
  op.axis = 3;
  op.is_training = true;
  const ArrayType image{{batch, side, side, channels}}, of_channels{{channels}};
  compare_loops(
      "batch normalization " + text_of(image.shape),
      normalization<dnnl::batch_normalization_forward, dnnl::batch_normalization_backward>(
          x, row_major({channels})),
      op, {image, of_channels, of_channels, of_channels, of_channels});
}

void layer_normalization(int64_t rows, int64_t size) {
  compare_loops(
      "layer normalization " + text_of(Shape{rows, size}),
      normalization<dnnl::layer_normalization_forward, dnnl::layer_normalization_backward>(
          row_major({rows, size}), row_major({size})),
      LayerNormalizationOp{}, {{{rows, size}}, {{size}}, {{size}}});
}

void max_pooling(int64_t batch, int64_t side, int64_t channels) {
  const int64_t result = side / 2;
  const MemoryDesc x = plain_of({batch, channels, side, side}, dnnl::memory::format_tag::nhwc);
  const MemoryDesc y = plain_of({batch, channels, result, result}, dnnl::memory::format_tag::nhwc);
  const auto algorithm = dnnl::algorithm::pooling_max;
  const dnnl::memory::dims two{2, 2}, none{0, 0};
  const auto forward = describe<dnnl::pooling_forward>(
      context->engine, usual_attributes(), dnnl::prop_kind::forward_training, algorithm, x, y, two,
      two, OF_ONEDNN_3(none) none, none);
  const auto backward = describe_gradient<dnnl::pooling_backward>(
      context->engine, usual_attributes(), forward, algorithm, x, y, two, two,
      OF_ONEDNN_3(none) none, none);
  std::vector<Primitive> primitives;
  primitives.emplace_back(dnnl::pooling_forward(forward), forward)
      .with(DNNL_ARG_SRC, x)
      .with(DNNL_ARG_DST, y)
      .with(DNNL_ARG_WORKSPACE, forward.workspace_desc());
  primitives.emplace_back(dnnl::pooling_backward(backward), backward)
      .with(DNNL_ARG_DIFF_DST, y)
      .with(DNNL_ARG_DIFF_SRC, x)
      .with(DNNL_ARG_WORKSPACE, forward.workspace_desc());
  PoolingOp op{Pooling::max, {}};
  op.window.size = op.window.strides = {2, 2};
  const ArrayType image{{batch, side, side, channels}};
  compare_loops("max pooling " + text_of(image.shape), primitives, op, {image});
}

void addition(int64_t rows, int64_t size) {
  const MemoryDesc x = plain_of({rows, size}, dnnl::memory::format_tag::ab);
  const auto forward = describe<dnnl::binary>(context->engine, usual_attributes(),
                                              dnnl::algorithm::binary_add, x, x, x);
  std::vector<Primitive> primitives;
  // Forward, and each gradient is a copy of what comes back.
  primitives.emplace_back(dnnl::binary(forward), forward)
      .with(DNNL_ARG_SRC_0, x)
      .with(DNNL_ARG_SRC_1, x)
      .with(DNNL_ARG_DST, x);
  const dnnl::reorder::primitive_desc copy(context->engine, x, context->engine, x,
                                           usual_attributes());
  for (int i = 0; i < 2; ++i)
    primitives.emplace_back(dnnl::reorder(copy), copy).with(DNNL_ARG_FROM, x).with(DNNL_ARG_TO, x);
  compare_loops("addition " + text_of(Shape{rows, size}), primitives, ArithmeticOp{},
                {{{rows, size}}, {{rows, size}}});
}

void transposition(int64_t batch, int64_t steps, int64_t heads, int64_t size) {
  using Tag = dnnl::memory::format_tag;
  const Shape dims{batch, steps, heads, size};
  const MemoryDesc x = plain_of(dims, Tag::abcd), y = plain_of(dims, Tag::acbd);
  std::vector<Primitive> primitives;
  for (int i = 0; i < 2; ++i) {
    const dnnl::reorder::primitive_desc move(context->engine, x, context->engine, y,
                                             usual_attributes());
    primitives.emplace_back(dnnl::reorder(move), move).with(DNNL_ARG_FROM, x).with(DNNL_ARG_TO, y);
  }
  compare_loops("transposition " + text_of(dims), primitives, TransposeOp{{0, 2, 1, 3}}, {{dims}});
}

void lstm(int64_t batch, int64_t steps, int64_t in, int64_t units) {
  using Tag = dnnl::memory::format_tag;
  const auto direction = dnnl::rnn_direction::unidirectional_left2right;
  const MemoryDesc x = plain_of({steps, batch, in}, Tag::tnc),
                   y = plain_of({steps, batch, units}, Tag::tnc),
                   state = plain_of({1, 1, batch, units}, Tag::ldnc),
                   kernel = any_of({1, 1, in, 4, units}),
                   recurrent = any_of({1, 1, units, 4, units}),
                   bias = plain_of({1, 1, 4, units}, Tag::ldgo);
  const auto forward = describe<dnnl::lstm_forward>(
      context->engine, usual_attributes(), dnnl::prop_kind::forward_training, direction, x, state,
      state, kernel, recurrent, bias, y, state, state);
  const auto backward = describe_gradient<dnnl::lstm_backward>(
      context->engine, usual_attributes(), forward, dnnl::prop_kind::backward, direction, x, state,
      state, kernel, recurrent, bias, y, state, state, x, state, state, kernel, recurrent, bias, y,
      state, state);
  std::vector<Primitive> primitives;
  primitives.emplace_back(dnnl::lstm_forward(forward), forward)
      .with(DNNL_ARG_SRC_LAYER, x)
      .with(DNNL_ARG_SRC_ITER, state)
      .with(DNNL_ARG_SRC_ITER_C, state)
      .with(DNNL_ARG_WEIGHTS_LAYER, forward.weights_layer_desc())
      .with(DNNL_ARG_WEIGHTS_ITER, forward.weights_iter_desc())
      .with(DNNL_ARG_BIAS, bias)
      .with(DNNL_ARG_DST_LAYER, y)
      .with(DNNL_ARG_DST_ITER, state)
      .with(DNNL_ARG_DST_ITER_C, state)
      .with(DNNL_ARG_WORKSPACE, forward.workspace_desc());
  primitives.emplace_back(dnnl::lstm_backward(backward), backward)
      .with(DNNL_ARG_SRC_LAYER, x)
      .with(DNNL_ARG_SRC_ITER, state)
      .with(DNNL_ARG_SRC_ITER_C, state)
      .with(DNNL_ARG_WEIGHTS_LAYER, backward.weights_layer_desc())
      .with(DNNL_ARG_WEIGHTS_ITER, backward.weights_iter_desc())
      .with(DNNL_ARG_BIAS, bias)
      .with(DNNL_ARG_DST_LAYER, y)
      .with(DNNL_ARG_DST_ITER, state)
      .with(DNNL_ARG_DST_ITER_C, state)
      .with(DNNL_ARG_WORKSPACE, forward.workspace_desc())
      .with(DNNL_ARG_DIFF_SRC_LAYER, x)
      .with(DNNL_ARG_DIFF_SRC_ITER, state)
      .with(DNNL_ARG_DIFF_SRC_ITER_C, state)
      .with(DNNL_ARG_DIFF_WEIGHTS_LAYER, backward.diff_weights_layer_desc())
      .with(DNNL_ARG_DIFF_WEIGHTS_ITER, backward.diff_weights_iter_desc())
      .with(DNNL_ARG_DIFF_BIAS, bias)
      .with(DNNL_ARG_DIFF_DST_LAYER, y)
      .with(DNNL_ARG_DIFF_DST_ITER, state)
      .with(DNNL_ARG_DIFF_DST_ITER_C, state);
  compare_loops("LSTM " + text_of(Shape{batch, steps, in, units}), primitives, LstmOp{},
                {{{batch, steps, in}}, {{in, 4 * units}}, {{units, 4 * units}}, {{4 * units}}});
}

}  // namespace

int main() {
  dense(64, 784, 128);
  dense(1024, 784, 128);
  dense(512, 64, 256);
  dense(512, 256, 64);
  dense(64, 1600, 128);
  dense(1024, 1024, 1024);
  product(1, 1024, 1024, 1024);
  product(64, 32, 16, 32);
  convolution(64, 28, 1, 32, 3);
  convolution(64, 13, 32, 64, 3);
  convolution(8, 56, 64, 64, 3);
  convolution(8, 28, 128, 256, 1);
  batch_normalization(64, 13, 32);
  batch_normalization(64, 13, 33);
  layer_normalization(512, 64);
  max_pooling(64, 26, 32);
  addition(512, 64);
  transposition(16, 32, 4, 16);
  lstm(64, 28, 28, 128);
  compare_loops("GRU " + text_of(Shape{64, 28, 28, 128}), {}, GruOp{},
                {{{64, 28, 28}}, {{28, 384}}, {{128, 384}}, {{2, 384}}});
  compare_loops("dropout " + text_of(Shape{64, 1600}), {}, DropoutOp{}, {{{64, 1600}}});
  compare_loops("sparse cross entropy " + text_of(Shape{512, 256}), {}, SparseCrossEntropyOp{},
                {{{512, 256}}, {{512}, Dtype::i32}});
}
