// The difference between oneDNN 2 and 3: how a primitive is described.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace det::nn {

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

}  // namespace det::nn
