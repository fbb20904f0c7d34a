// The numbers that the operations of cuDNN give, in double.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_memory.h"
#include "tests/nn/emulated_cuda/emulated_operation.h"

namespace emulated {

namespace {

constexpr size_t most_directions = 3;
using Space = std::array<int64_t, most_directions>;

// As three directions, of which the first ones may be of size 1.
Space space_of(const std::vector<int64_t> &of_directions, int64_t otherwise) {
  Space space;
  space.fill(otherwise);
  std::ranges::copy_backward(of_directions, space.end());
  return space;
}
Space space_of(const Tensor &tensor) {
  return space_of({tensor.dimensions.begin() + 2, tensor.dimensions.end()}, 1);
}

int64_t place(int64_t outer, const Space &at, const Space &size) {
  return ((outer * size[0] + at[0]) * size[1] + at[1]) * size[2] + at[2];
}

template <class Visit>
void for_each_place(const Space &size, Visit visit) {
  for (int64_t i = 0; i < size[0]; ++i)
    for (int64_t j = 0; j < size[1]; ++j)
      for (int64_t k = 0; k < size[2]; ++k) visit(Space{i, j, k});
}

// Calls with the places in x, w and y of all numbers that are multiplied: y = x w.
template <class Visit>
void for_each_product(const Operation &operation, Visit visit) {
  const Space x = space_of(operation.x), w = space_of(operation.w), y = space_of(operation.y);
  const Space strides = space_of(operation.window.strides, 1),
              dilations = space_of(operation.window.dilations, 1),
              before = space_of(operation.window.before, 0);
  const int64_t channels = operation.x.dimensions[1], in_group = operation.w.dimensions[1];
  const int64_t filters = operation.w.dimensions[0];
  const int64_t filters_in_group = filters / (channels / in_group);
  for (int64_t record = 0; record < operation.x.dimensions[0]; ++record)
    for (int64_t filter = 0; filter < filters; ++filter)
      for_each_place(y, [&](const Space &of_y) {
        const int64_t to = place(record * filters + filter, of_y, y);
        for_each_place(w, [&](const Space &of_w) {
          Space of_x;
          for (size_t i = 0; i < most_directions; ++i) {
            of_x[i] = of_y[i] * strides[i] - before[i] + of_w[i] * dilations[i];
            if (of_x[i] < 0 || of_x[i] >= x[i]) return;
          }
          const int64_t first = filter / filters_in_group * in_group;
          for (int64_t channel = 0; channel < in_group; ++channel)
            visit(static_cast<size_t>(place(record * channels + first + channel, of_x, x)),
                  static_cast<size_t>(place(filter * in_group + channel, of_w, w)),
                  static_cast<size_t>(to));
        });
      });
}

size_t count(const Tensor &tensor) {
  return static_cast<size_t>(std::accumulate(tensor.dimensions.begin(), tensor.dimensions.end(),
                                             int64_t{1}, std::multiplies()));
}

// Calls with the place in memory of each number, in order. A dimension that is 1 where `as` has
// more is gone through again and again.
template <class Visit>
void for_each_number(const Tensor &tensor, const Tensor &as, Visit visit) {
  std::vector<int64_t> at(as.dimensions.size());
  for (size_t i = 0; i < count(as); ++i) {
    int64_t place = 0;
    for (size_t d = 0; d < at.size(); ++d)
      if (tensor.dimensions[d] != 1) place += at[d] * tensor.strides[d];
    visit(place);
    for (size_t d = at.size(); d-- > 0 && ++at[d] == as.dimensions[d];) at[d] = 0;
  }
}

std::vector<double> read_all(const Tensor &tensor, const void *memory, const Tensor &as) {
  std::vector<double> values;
  values.reserve(count(as));
  for_each_number(tensor, as,
                  [&](int64_t at) { values.push_back(read_number(tensor.type, memory, at)); });
  return values;
}

std::vector<double> convolve(const Operation &operation, const std::vector<double> &first,
                             const std::vector<double> &second) {
  std::vector<double> sums(count(operation.result()));
  const auto add_up = [&](auto add) { for_each_product(operation, add); };
  switch (operation.kind) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      add_up([&](size_t x, size_t w, size_t y) { sums[x] += first[w] * second[y]; });
      break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      add_up([&](size_t x, size_t w, size_t y) { sums[w] += first[x] * second[y]; });
      break;
    default:
      add_up([&](size_t x, size_t w, size_t y) { sums[y] += first[x] * second[w]; });
  }
  return sums;
}

std::vector<double> change_each(const Operation &operation, std::vector<double> values,
                                const std::vector<double> &second) {
  for (size_t i = 0; i < values.size(); ++i) {
    double &value = values[i];
    value *= operation.alpha;
    if (operation.mode == CUDNN_POINTWISE_ADD) value += operation.beta * second[i];
    if (operation.mode == CUDNN_POINTWISE_MUL) value *= operation.beta * second[i];
    // NaN stays.
    if (operation.mode == CUDNN_POINTWISE_RELU_FWD && value < operation.lower)
      value = operation.lower;
    if (operation.mode == CUDNN_POINTWISE_RELU_FWD && value > operation.upper)
      value = operation.upper;
  }
  return values;
}

void write_scaled(const Operation &operation, void *memory, const std::vector<double> &values) {
  const Tensor &result = operation.result();
  const double alpha = operation.is_convolution() ? operation.alpha : 1;
  const double beta = operation.is_convolution() ? operation.beta : 0;
  size_t next = 0;
  for_each_number(result, result, [&](int64_t at) {
    double value = alpha * values[next++];
    if (beta != 0) value += beta * read_number(result.type, memory, at);
    write_number(result.type, memory, at, static_cast<float>(value));
  });
}

void evaluate(const Operation &operation, const std::map<int64_t, void *> &memory) {
  std::vector<std::vector<double>> inputs;
  const auto tensors = operation.tensors();
  for (size_t i = 0; i + 1 < tensors.size(); ++i)
    inputs.push_back(read_all(*tensors[i], memory.at(tensors[i]->id),
                              operation.is_convolution() ? *tensors[i] : operation.y));
  if (inputs.size() < 2) inputs.emplace_back();
  write_scaled(operation, memory.at(operation.result().id),
               operation.is_convolution() ? convolve(operation, inputs[0], inputs[1])
                                          : change_each(operation, inputs[0], inputs[1]));
}

}  // namespace

void evaluate(const std::vector<Operation> &operations, std::map<int64_t, void *> memory) {
  std::map<int64_t, std::vector<float>> intermediate;
  for (const Operation &operation : operations)
    for (const Tensor *tensor : operation.tensors())
      if (tensor->is_virtual) {
        auto &numbers = intermediate[tensor->id];
        numbers.assign(tensor->span() / 2 + 1, std::numeric_limits<float>::quiet_NaN());
        memory[tensor->id] = numbers.data();
      } else if (!is_reachable(memory.at(tensor->id), tensor->span())) {
        return access_illegal_address();
      }
  for (const Operation &operation : operations) evaluate(operation, memory);
}

}  // namespace emulated
