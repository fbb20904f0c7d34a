#include "tests/nn/suite/operation_case.h"

namespace det::test {

using namespace nn;

namespace {

Window window_of(Window::Sizes size, Window::Sizes strides = {1, 1}) {
  Window window;
  window.size = size;
  window.strides = strides;
  return window;
}

Window padded(Window window, const Shape &image) {
  window.pad_same(image);
  return window;
}

Window dilated(Window window) {
  window.dilation = {2, 2};
  return window;
}

}  // namespace

OperationCases convolution_cases() {
  const Shape image{2, 6, 5, 3};
  OperationCases cases{
      {"convolution",
       ConvolutionOp{window_of({3, 2})},
       {floats(image), floats({3, 2, 3, 4}), floats({4})}},
      {"convolution without a bias, padded on one side",
       ConvolutionOp{padded(window_of({2, 2}), image)},
       {floats(image), floats({2, 2, 3, 4})}},
      {"convolution with strides and tanh",
       ConvolutionOp{padded(window_of({3, 3}, {2, 3}), image), 1, Activation::tanh},
       {floats(image), floats({3, 3, 3, 4}), floats({4})}},
      {"dilated convolution",
       ConvolutionOp{padded(dilated(window_of({3, 2})), image)},
       {floats(image), floats({3, 2, 3, 2}), floats({2})}},
      {"convolution in groups",
       ConvolutionOp{padded(window_of({3, 3}), {2, 4, 4, 4}), 2},
       {floats({2, 4, 4, 4}), floats({3, 3, 2, 6}), floats({6})}},
      {"depthwise convolution",
       ConvolutionOp{padded(window_of({3, 3}, {2, 2}), image), 3},
       {floats(image), floats({3, 3, 1, 6}), floats({6})}},
      {"convolution of one row",
       ConvolutionOp{window_of({1, 3}), 1, Activation::sigmoid},
       {floats({2, 1, 7, 3}), floats({1, 3, 3, 5}), floats({5})}},
  };
  return cases;
}

OperationCases pooling_cases() {
  const Shape image{2, 6, 5, 3};
  OperationCases cases;
  for (const Pooling pooling : {Pooling::max, Pooling::average}) {
    const std::string name = pooling == Pooling::max ? "max pooling" : "average pooling";
    cases.push_back({name,
                     PoolingOp{pooling, window_of({2, 2}, {2, 2})},
                     {floats(image)},
                     fill_with_distances});
    cases.push_back({name + " of padded windows that overlap",
                     PoolingOp{pooling, padded(window_of({3, 3}, {2, 2}), image)},
                     {floats(image)},
                     fill_with_distances});
    const Shape large{8, 32, 33, 19};
    cases.push_back({name + " of large images",
                     PoolingOp{pooling, padded(window_of({3, 2}, {2, 3}), large)},
                     {floats(large)},
                     fill_with_distances});
    cases.push_back({name + " of all",
                     PoolingOp{pooling, window_of({6, 5})},
                     {floats(image)},
                     fill_with_distances});
  }
  return cases;
}

}  // namespace det::test
