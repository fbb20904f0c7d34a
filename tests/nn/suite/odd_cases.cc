// Shapes that kernels of fixed vectors and blocks are rarely tried with: each number of channels
// from 1 to 17, what is one pixel wide, and the rest drawn, always the same for one seed.
#include "tests/nn/suite/operation_case.h"
#include "wrappers/nn/arithmetic/random_stream.h"

namespace det::test {

using namespace nn;

namespace {

constexpr int64_t most_channels = 17;

class Draw {
 public:
  template <class Value>
  Value of(const std::vector<Value> &values) {
    return values[random_.word() % values.size()];
  }
  int64_t from(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(random_.word() % static_cast<uint32_t>(last - first + 1));
  }
  bool coin() { return random_.word() % 2 == 0; }

 private:
  RandomStream random_{2026, 11};
};

std::string sizes(const ArrayTypes &types) {
  std::string text;
  for (const ArrayType &type : types) text += " " + text_of(type.shape);
  return text;
}

std::string pair_of(const Window::Sizes &pair) { return text_of({pair[0], pair[1]}); }

std::string window_text(const Window &window) {
  return " of a window " + pair_of(window.size) + ", strides " + pair_of(window.strides) +
         ", dilation " + pair_of(window.dilation) + ", padded " + pair_of(window.before) + " and " +
         pair_of(window.after);
}

// Windows of each kind that the image has room for, over an image that is drawn for it.
struct PlacedWindow {
  Window window;
  Shape image;  // without channels
};

PlacedWindow place(Draw &draw, const Window &of, bool is_padded) {
  const std::vector<Window::Sizes> images{{1, 1},  {1, 9},  {5, 7},   {8, 8},
                                          {13, 3}, {2, 33}, {16, 16}, {31, 1}};
  for (;;) {
    PlacedWindow placed{of, {}};
    const Window::Sizes image = draw.of(images);
    placed.image = {draw.of<int64_t>({1, 3}), image[0], image[1]};
    if (is_padded) placed.window.pad_same({placed.image[0], image[0], image[1], 1});
    bool has_room = true;
    for (size_t d = 0; d < 2; ++d)
      has_room = has_room && (is_padded || image[d] >= placed.window.extent(d)) &&
                 placed.window.before[d] < placed.window.extent(d) &&
                 placed.window.after[d] < placed.window.extent(d);
    if (has_room) return placed;
    if (!is_padded && of.extent(0) > 1 && of.extent(1) > 1 && draw.coin()) continue;
  }
}

void add_convolution(OperationCases &cases, Draw &draw, const PlacedWindow &placed, int64_t in,
                     int64_t out, int64_t groups) {
  Shape image = placed.image;
  image.push_back(in);
  const ConvolutionOp op{
      placed.window, groups,
      draw.of<Activation>({Activation::linear, Activation::relu, Activation::tanh})};
  ArrayTypes inputs{floats(image),
                    floats({placed.window.size[0], placed.window.size[1], in / groups, out})};
  if (draw.coin()) inputs.push_back(floats({out}));
  cases.push_back({"convolution" + window_text(placed.window) + " in " + std::to_string(groups) +
                       " groups:" + sizes(inputs),
                   op, inputs});
}

std::vector<Window> windows(const std::vector<Window::Sizes> &window_sizes, bool are_dilated) {
  std::vector<Window> all;
  for (const Window::Sizes &size : window_sizes)
    for (const Window::Sizes &strides : std::vector<Window::Sizes>{{1, 1}, {2, 2}, {3, 1}}) {
      Window window;
      window.size = size;
      window.strides = strides;
      all.push_back(window);
      if (!are_dilated || strides != Window::Sizes{1, 1} || size == Window::Sizes{1, 1}) continue;
      window.dilation = {2, 3};
      all.push_back(window);
    }
  return all;
}

OperationCases odd_convolutions(Draw &draw) {
  OperationCases cases;
  for (const Window &window : windows({{1, 1}, {3, 3}, {1, 3}, {2, 2}, {5, 1}}, true))
    for (const bool is_padded : {false, true})
      for (int64_t in = 1; in <= most_channels; ++in) {
        add_convolution(cases, draw, place(draw, window, is_padded), in,
                        draw.from(1, most_channels), 1);
        if (in % 3 != 0) continue;
        const int64_t groups = draw.of<int64_t>({3, in});
        add_convolution(cases, draw, place(draw, window, is_padded), in, groups * draw.from(1, 3),
                        groups);
      }
  // A kernel of one pixel with strides is computed in another way than all others.
  for (const Window::Sizes &strides : std::vector<Window::Sizes>{{1, 2}, {2, 2}, {4, 3}})
    for (int64_t in = 1; in <= most_channels; ++in) {
      PlacedWindow placed{{}, {1, strides[0] == 1 ? 1 : 32, 64}};
      placed.window.strides = strides;
      add_convolution(cases, draw, placed, in, 8, 1);
    }
  return cases;
}

OperationCases odd_poolings(Draw &draw) {
  OperationCases cases;
  for (const Pooling pooling : {Pooling::max, Pooling::average})
    for (const Window &window : windows({{1, 1}, {2, 2}, {3, 3}, {1, 4}}, false))
      for (const bool is_padded : {false, true})
        for (int64_t channels = 1; channels <= most_channels; ++channels) {
          const PlacedWindow placed = place(draw, window, is_padded);
          Shape image = placed.image;
          image.push_back(channels);
          cases.push_back({(pooling == Pooling::max ? "max pooling" : "average pooling") +
                               window_text(placed.window) + ":" + sizes({floats(image)}),
                           PoolingOp{pooling, placed.window},
                           {floats(image)},
                           fill_with_distances});
        }
  return cases;
}

OperationCases odd_products(Draw &draw) {
  OperationCases cases;
  for (int64_t in = 1; in <= most_channels; ++in)
    for (const int64_t out : {1, 2, 5, 8, 17})
      for (const int64_t rows : {1, 4, 1031}) {
        ArrayTypes inputs{floats({rows, in}), floats({in, out})};
        if (draw.coin()) inputs.push_back(floats({out}));
        cases.push_back({"dense:" + sizes(inputs),
                         DenseOp{draw.of<Activation>({Activation::linear, Activation::relu})},
                         inputs,
                         {},
                         {},
                         4e-5});
      }
  for (int64_t k = 1; k <= most_channels; ++k)
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        for (const int64_t count : {1, 257}) {
          const int64_t m = draw.from(1, most_channels), n = draw.from(1, most_channels);
          const ArrayTypes inputs{floats(a ? Shape{count, k, m} : Shape{count, m, k}),
                                  floats(b ? Shape{count, n, k} : Shape{count, k, n})};
          cases.push_back(
              {"batched product:" + sizes(inputs), BatchedMatMulOp{a, b, 0.5F}, inputs});
        }
  return cases;
}

OperationCases odd_normalizations(Draw &draw) {
  OperationCases cases;
  for (int64_t channels = 1; channels <= most_channels; ++channels) {
    for (const bool is_training : {true, false})
      for (const Shape &places : std::vector<Shape>{{5}, {1, 7, 5}, {2, 9, 13}, {300}}) {
        BatchNormalizationOp op;
        op.axis = draw.coin() ? places.size() : 1;
        op.is_training = is_training;
        Shape shape = places;
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(op.axis), channels);
        ArrayTypes inputs{floats(shape)};
        inputs.resize(5, floats({channels}));
        cases.push_back({"batch normalization:" + sizes(inputs),
                         op,
                         inputs,
                         fill_with_variances,
                         {true, true, true, false, false},
                         1e-4});
      }
    for (const int64_t rows : {1, 3, 301}) {
      const ArrayTypes inputs{floats({rows, channels}), floats({channels}), floats({channels})};
      cases.push_back({"layer normalization:" + sizes(inputs),
                       LayerNormalizationOp{},
                       inputs,
                       {},
                       {},
                       1e-3});  // of rows of one number hardly anything is left
      for (const bool is_logarithm : {false, true})
        cases.push_back({"softmax:" + sizes({inputs[0]}), SoftmaxOp{is_logarithm}, {inputs[0]}});
      cases.push_back({"cross entropy:" + sizes({inputs[0]}),
                       SparseCrossEntropyOp{},
                       {inputs[0], {{rows}, Dtype::i32}},
                       [](size_t input, const Array &array) {
                         if (input == 0) return fill_randomly(array, 17);
                         for (int32_t &label : array.elements<int32_t>()) label = 0;
                       }});
    }
  }
  return cases;
}

OperationCases odd_sequences(Draw &draw) {
  OperationCases cases;
  for (int64_t units = 1; units <= most_channels; ++units)
    for (const bool goes_backwards : {false, true}) {
      const int64_t features = draw.from(1, most_channels), steps = draw.from(1, 5);
      const int64_t batch = draw.of<int64_t>({1, 2, 3, 9, 33});
      const auto inputs = [&](int64_t gates, const Shape &bias) {
        ArrayTypes all{floats({batch, steps, features}), floats({features, gates * units}),
                       floats({units, gates * units})};
        if (draw.coin()) all.push_back(floats(bias));
        return all;
      };
      const Activation tanh = Activation::tanh, sigmoid = Activation::sigmoid;
      const ArrayTypes lstm = inputs(4, {4 * units}), gru = inputs(3, {2, 3 * units});
      const ArrayTypes early = inputs(3, {3 * units}), simple = inputs(1, {units});
      cases.push_back({"LSTM:" + sizes(lstm), LstmOp{tanh, sigmoid, goes_backwards}, lstm});
      cases.push_back({"GRU:" + sizes(gru), GruOp{tanh, sigmoid, goes_backwards}, gru});
      cases.push_back({"GRU that resets before:" + sizes(early),
                       GruOp{tanh, sigmoid, goes_backwards, false}, early});
      cases.push_back({"simple RNN:" + sizes(simple), SimpleRnnOp{tanh, goes_backwards}, simple});
      for (OperationCase &one : cases) one.tolerance = 5e-5;
    }
  return cases;
}

OperationCases odd_elements(Draw &draw) {
  OperationCases cases;
  for (const int64_t count : {1, 15, 1023, 1025, 4099}) {
    for (int i = 0; i <= static_cast<int>(Activation::leaky_relu); ++i) {
      const auto activation = static_cast<Activation>(i);
      cases.push_back(
          {std::string("activation ") + name_of(activation) + ":" + sizes({floats({count})}),
           ActivationOp{activation, 0.3F},
           {floats({count})}});
    }
    for (const Arithmetic arithmetic : {Arithmetic::add, Arithmetic::subtract, Arithmetic::multiply,
                                        Arithmetic::maximum, Arithmetic::minimum}) {
      const int64_t row = draw.from(1, most_channels);
      const ArrayTypes whole{floats({count, row}), floats({count, row})};
      const ArrayTypes repeated{floats({count, row}), floats({row})};
      for (const ArrayTypes &inputs : {whole, repeated})
        cases.push_back(
            {"arithmetic " + std::to_string(static_cast<int>(arithmetic)) + ":" + sizes(inputs),
             ArithmeticOp{arithmetic},
             inputs,
             {},
             {},
             1e-4});
    }
    cases.push_back({"dropout:" + sizes({floats({count, 3})}),
                     DropoutOp{0.3F, draw.coin()},
                     {floats({count, 3})}});
  }
  for (int64_t size = 1; size <= most_channels; ++size)
    for (const std::vector<size_t> &order : std::vector<std::vector<size_t>>{
             {0, 2, 1, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 0, 2, 3}, {0, 3, 1, 2}}) {
      const Shape shape{draw.from(1, 9), size, draw.from(1, most_channels),
                        draw.from(1, most_channels)};
      cases.push_back({"transpose:" + sizes({floats(shape)}), TransposeOp{order}, {floats(shape)}});
    }
  return cases;
}

}  // namespace

OperationCases odd_cases() {
  Draw draw;
  OperationCases cases;
  for (const auto &part : {odd_convolutions(draw), odd_poolings(draw), odd_products(draw),
                           odd_normalizations(draw), odd_sequences(draw), odd_elements(draw)})
    cases.insert(cases.end(), part.begin(), part.end());
  // Sums of numbers of this size may be near zero.
  for (OperationCase &one : cases) one.least = 1;
  return cases;
}

}  // namespace det::test
