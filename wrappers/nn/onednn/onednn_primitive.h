// What all kernels of oneDNN are made of.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "wrappers/nn/arrays/array.h"

namespace det::nn {

// The difference between oneDNN 2 and 3: how a primitive is described.

using MemoryDesc = dnnl::memory::desc;

// A convolution but for its arrays.
struct ConvolutionShape {
  dnnl::memory::dims strides, dilation, before, after;
};

#if DNNL_VERSION_MAJOR >= 3

inline void append_function(dnnl::post_ops &ops, dnnl::algorithm function, float alpha = 0) {
  ops.append_eltwise(function, alpha, 0);
}

inline dnnl::matmul::primitive_desc describe_product(const dnnl::engine &engine,
                                                     const MemoryDesc &x, const MemoryDesc &y,
                                                     const MemoryDesc &bias,
                                                     const MemoryDesc &product,
                                                     const dnnl::primitive_attr &attributes) {
  return {engine, x, y, bias, product, attributes};
}

inline dnnl::eltwise_forward::primitive_desc describe_function(
    const dnnl::engine &engine, dnnl::algorithm function, const MemoryDesc &array, float alpha,
    const dnnl::primitive_attr &attributes) {
  return {engine, dnnl::prop_kind::forward_training, function, array, array, alpha, 0, attributes};
}

inline dnnl::eltwise_backward::primitive_desc describe_derivative(
    const dnnl::engine &engine, dnnl::algorithm function, const MemoryDesc &array, float alpha,
    const dnnl::primitive_attr &attributes) {
  return {engine,    function, array, array,
          array,     alpha,    0,     describe_function(engine, function, array, alpha, attributes),
          attributes};
}

inline dnnl::softmax_forward::primitive_desc describe_softmax(
    const dnnl::engine &engine, const MemoryDesc &array, const dnnl::primitive_attr &attributes) {
  return {engine,
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::softmax_accurate,
          array,
          array,
          array.get_ndims() - 1,
          attributes};
}

inline dnnl::softmax_backward::primitive_desc describe_softmax_derivative(
    const dnnl::engine &engine, const MemoryDesc &array, const dnnl::primitive_attr &attributes) {
  return {engine,
          dnnl::algorithm::softmax_accurate,
          array,
          array,
          array,
          array.get_ndims() - 1,
          describe_softmax(engine, array, attributes),
          attributes};
}

inline dnnl::convolution_forward::primitive_desc describe_convolution(
    const dnnl::engine &engine, const ConvolutionShape &shape, const MemoryDesc &x,
    const MemoryDesc &kernel, const MemoryDesc &bias, const MemoryDesc &y,
    const dnnl::primitive_attr &attributes) {
  return {engine,
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          x,
          kernel,
          bias,
          y,
          shape.strides,
          shape.dilation,
          shape.before,
          shape.after,
          attributes};
}

inline dnnl::convolution_backward_data::primitive_desc describe_convolution_of_input(
    const dnnl::engine &engine, const ConvolutionShape &shape, const MemoryDesc &dx,
    const MemoryDesc &kernel, const MemoryDesc &dy,
    const dnnl::convolution_forward::primitive_desc &forward,
    const dnnl::primitive_attr &attributes) {
  return {engine,
          dnnl::algorithm::convolution_direct,
          dx,
          kernel,
          dy,
          shape.strides,
          shape.dilation,
          shape.before,
          shape.after,
          forward,
          attributes};
}

inline dnnl::convolution_backward_weights::primitive_desc describe_convolution_of_kernel(
    const dnnl::engine &engine, const ConvolutionShape &shape, const MemoryDesc &x,
    const MemoryDesc &dkernel, const MemoryDesc &dbias, const MemoryDesc &dy,
    const dnnl::convolution_forward::primitive_desc &forward,
    const dnnl::primitive_attr &attributes) {
  return {engine,
          dnnl::algorithm::convolution_direct,
          x,
          dkernel,
          dbias,
          dy,
          shape.strides,
          shape.dilation,
          shape.before,
          shape.after,
          forward,
          attributes};
}

#else

inline void append_function(dnnl::post_ops &ops, dnnl::algorithm function, float alpha = 0) {
  ops.append_eltwise(1, function, alpha, 0);
}

inline dnnl::matmul::primitive_desc describe_product(const dnnl::engine &engine,
                                                     const MemoryDesc &x, const MemoryDesc &y,
                                                     const MemoryDesc &bias,
                                                     const MemoryDesc &product,
                                                     const dnnl::primitive_attr &attributes) {
  return {{x, y, bias, product}, attributes, engine};
}

inline dnnl::eltwise_forward::primitive_desc describe_function(
    const dnnl::engine &engine, dnnl::algorithm function, const MemoryDesc &array, float alpha,
    const dnnl::primitive_attr &attributes) {
  return {{dnnl::prop_kind::forward_training, function, array, alpha, 0}, attributes, engine};
}

inline dnnl::eltwise_backward::primitive_desc describe_derivative(
    const dnnl::engine &engine, dnnl::algorithm function, const MemoryDesc &array, float alpha,
    const dnnl::primitive_attr &attributes) {
  return {{function, array, array, alpha, 0},
          attributes,
          engine,
          describe_function(engine, function, array, alpha, attributes)};
}

inline dnnl::softmax_forward::primitive_desc describe_softmax(
    const dnnl::engine &engine, const MemoryDesc &array, const dnnl::primitive_attr &attributes) {
  const int last = static_cast<int>(array.dims().size()) - 1;
  return {{dnnl::prop_kind::forward_training, array, last}, attributes, engine};
}

inline dnnl::softmax_backward::primitive_desc describe_softmax_derivative(
    const dnnl::engine &engine, const MemoryDesc &array, const dnnl::primitive_attr &attributes) {
  return {{array, array, static_cast<int>(array.dims().size()) - 1},
          attributes,
          engine,
          describe_softmax(engine, array, attributes)};
}

inline dnnl::convolution_forward::primitive_desc describe_convolution(
    const dnnl::engine &engine, const ConvolutionShape &shape, const MemoryDesc &x,
    const MemoryDesc &kernel, const MemoryDesc &bias, const MemoryDesc &y,
    const dnnl::primitive_attr &attributes) {
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x, kernel, bias,
           y, shape.strides, shape.dilation, shape.before, shape.after},
          attributes,
          engine};
}

inline dnnl::convolution_backward_data::primitive_desc describe_convolution_of_input(
    const dnnl::engine &engine, const ConvolutionShape &shape, const MemoryDesc &dx,
    const MemoryDesc &kernel, const MemoryDesc &dy,
    const dnnl::convolution_forward::primitive_desc &forward,
    const dnnl::primitive_attr &attributes) {
  return {{dnnl::algorithm::convolution_direct, dx, kernel, dy, shape.strides, shape.dilation,
           shape.before, shape.after},
          attributes,
          engine,
          forward};
}

inline dnnl::convolution_backward_weights::primitive_desc describe_convolution_of_kernel(
    const dnnl::engine &engine, const ConvolutionShape &shape, const MemoryDesc &x,
    const MemoryDesc &dkernel, const MemoryDesc &dbias, const MemoryDesc &dy,
    const dnnl::convolution_forward::primitive_desc &forward,
    const dnnl::primitive_attr &attributes) {
  return {{dnnl::algorithm::convolution_direct, x, dkernel, dbias, dy, shape.strides,
           shape.dilation, shape.before, shape.after},
          attributes,
          engine,
          forward};
}

#endif

// The processor, and how many threads of it are used. Shared by all kernels of a back end.
struct OnednnContext {
  explicit OnednnContext(int most_threads);

  const int threads;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

// As long as it lives, with how many threads the thread that made it has oneDNN prepare and
// compute. A primitive is computed with as many as it was prepared for.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit &) = delete;
  ThreadLimit &operator=(const ThreadLimit &) = delete;

 private:
  const int before_;  // the program's own number, which it gets back
  const bool is_other_;
};

// Of float32, row-major.
MemoryDesc row_major(const Shape &shape);
MemoryDesc column_major(int64_t rows, int64_t columns);  // as rows x columns, by columns

// Memory for intermediate results comes from us, once.
dnnl::primitive_attr usual_attributes();

// A primitive with all that it works on.
class OnednnPrimitive {
 public:
  OnednnPrimitive(std::shared_ptr<OnednnContext> context, dnnl::primitive primitive,
                  const MemoryDesc &scratchpad);

  // `argument` is a DNNL_ARG_*.
  OnednnPrimitive &with(int argument, const MemoryDesc &desc, void *data);
  // The argument, which there is already, is elsewhere from now on.
  void move(int argument, void *data);
  void run() const;

 private:
  std::shared_ptr<OnednnContext> context_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;  // of memories_
};

}  // namespace det::nn
