// Dense layers, products of matrices and convolutions of the layers engine against oneDNN's own
// primitives for the same, as its benchmark calls those: in whichever layouts they like best,
// already laid out. Forward and both ways backward; both use as many threads. The medians of turns
// that go round.
#include <cmath>
#include <functional>

#include "tests/bench/measure.h"
#include "wrappers/nn/arithmetic/random_stream.h"
#include "wrappers/nn/backend.h"
#include "wrappers/nn/onednn/onednn_primitive.h"

using namespace det::nn;

namespace {

constexpr double budget = 0.9;  // of oneDNN's speed
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
  EngineKernel(const Operation &operation, const ArrayTypes &inputs) {
    Operands operands;
    for (const ArrayType &type : inputs) {
      operands.inputs.emplace_back(type);
      operands.input_gradients.emplace_back(type);
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
  const std::shared_ptr<Backend> backend_ = open_backend("onednn");
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
  const double ratio = their_time / our_time;
  std::printf("%-40s %9.1f us   oneDNN %9.1f us   %5.2f x its speed   budget %.1f: %s\n",
              name.c_str(), our_time / 1e3, their_time / 1e3, ratio, budget,
              ratio >= budget ? "met" : "missed");
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
}
