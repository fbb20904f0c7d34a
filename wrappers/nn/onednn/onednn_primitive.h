// What all kernels of oneDNN are made of.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "wrappers/nn/arrays/array.h"

namespace det::nn {

using MemoryDesc = dnnl::memory::desc;

// A convolution but for its arrays.
struct ConvolutionShape {
  dnnl::memory::dims strides, dilation, before, after;
};

// The difference between oneDNN 2 and 3: how a primitive is described. In a gradient, `forward` is
// the primitive that it goes back through.
#if DNNL_VERSION_MAJOR >= 3

template <class Primitive, class... Parts>
typename Primitive::primitive_desc describe(const dnnl::engine &engine,
                                            const dnnl::primitive_attr &attributes,
                                            const Parts &...parts) {
  return {engine, parts..., attributes};
}

template <class Primitive, class Forward, class... Parts>
typename Primitive::primitive_desc describe_gradient(const dnnl::engine &engine,
                                                     const dnnl::primitive_attr &attributes,
                                                     const Forward &forward,
                                                     const Parts &...parts) {
  return {engine, parts..., forward, attributes};
}

inline void append_function(dnnl::post_ops &ops, dnnl::algorithm function, float alpha = 0) {
  ops.append_eltwise(function, alpha, 0);
}

#else

template <class Primitive, class... Parts>
typename Primitive::primitive_desc describe(const dnnl::engine &engine,
                                            const dnnl::primitive_attr &attributes,
                                            const Parts &...parts) {
  return {typename Primitive::desc(parts...), attributes, engine};
}

template <class Primitive, class Forward, class... Parts>
typename Primitive::primitive_desc describe_gradient(const dnnl::engine &engine,
                                                     const dnnl::primitive_attr &attributes,
                                                     const Forward &forward,
                                                     const Parts &...parts) {
  return {typename Primitive::desc(parts...), attributes, engine, forward};
}

inline void append_function(dnnl::post_ops &ops, dnnl::algorithm function, float alpha = 0) {
  ops.append_eltwise(1, function, alpha, 0);
}

#endif

inline dnnl::matmul::primitive_desc describe_product(const dnnl::engine &engine,
                                                     const MemoryDesc &x, const MemoryDesc &y,
                                                     const MemoryDesc &bias,
                                                     const MemoryDesc &product,
                                                     const dnnl::primitive_attr &attributes) {
  return describe<dnnl::matmul>(engine, attributes, x, y, bias, product);
}

inline dnnl::convolution_forward::primitive_desc describe_convolution(
    const dnnl::engine &engine, const ConvolutionShape &shape, const MemoryDesc &x,
    const MemoryDesc &kernel, const MemoryDesc &bias, const MemoryDesc &y,
    const dnnl::primitive_attr &attributes) {
  return describe<dnnl::convolution_forward>(
      engine, attributes, dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x,
      kernel, bias, y, shape.strides, shape.dilation, shape.before, shape.after);
}

inline dnnl::convolution_backward_data::primitive_desc describe_convolution_of_input(
    const dnnl::engine &engine, const ConvolutionShape &shape, const MemoryDesc &dx,
    const MemoryDesc &kernel, const MemoryDesc &dy,
    const dnnl::convolution_forward::primitive_desc &forward,
    const dnnl::primitive_attr &attributes) {
  return describe_gradient<dnnl::convolution_backward_data>(
      engine, attributes, forward, dnnl::algorithm::convolution_direct, dx, kernel, dy,
      shape.strides, shape.dilation, shape.before, shape.after);
}

inline dnnl::convolution_backward_weights::primitive_desc describe_convolution_of_kernel(
    const dnnl::engine &engine, const ConvolutionShape &shape, const MemoryDesc &x,
    const MemoryDesc &dkernel, const MemoryDesc &dbias, const MemoryDesc &dy,
    const dnnl::convolution_forward::primitive_desc &forward,
    const dnnl::primitive_attr &attributes) {
  return describe_gradient<dnnl::convolution_backward_weights>(
      engine, attributes, forward, dnnl::algorithm::convolution_direct, x, dkernel, dbias, dy,
      shape.strides, shape.dilation, shape.before, shape.after);
}

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

// Copies an array into the layout `to`.
OnednnPrimitive reordering(const std::shared_ptr<OnednnContext> &context, const MemoryDesc &from,
                           void *from_data, const MemoryDesc &to, void *to_data);

}  // namespace det::nn
