// What stands for cuDNN in tests, against loops that are written out here.
#include <cstdlib>
#include <cstring>

#include "core/base/half.h"
#include "tests/cmocka.h"
#include "tests/nn/emulated_cuda/convolution_graph.h"
#include "tests/nn/emulated_cuda/managed_numbers.h"

namespace det::test {
namespace {

constexpr auto forward = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
constexpr auto backward_data = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
constexpr auto backward_filter = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
constexpr int64_t x_id = 1, w_id = 2, y_id = 3, bias_id = 4;

// Whole numbers, so that sums are exact.
ManagedNumbers some_numbers(size_t count, int seed) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>((static_cast<int>(i) * 7 + seed) % 11 - 5);
  return ManagedNumbers(numbers);
}

// Plans what was added, does it and gives the status.
cudnnStatus_t compute(ConvolutionGraph &graph, const Sizes &ids,
                      const std::vector<void *> &memory) {
  const ManagedNumbers workspace = no_numbers(16);
  const auto plan = graph.plan(graph.configuration(graph.heuristic()));
  const auto pack = graph.pack(ids, memory, workspace.data());
  if (graph.status == CUDNN_STATUS_SUCCESS)
    graph.note(cudnnBackendExecute(graph.handle, plan, pack));
  cudaDeviceSynchronize();
  return graph.status;
}

// 2 records of 5x6 with 4 channels in 2 groups, 6 filters of 3x3, strides 2 and 1, dilations 1 and
// 2, and padding that differs on each side.
constexpr int64_t records = 2, height = 5, width = 6, channels = 4, in_group = 2, filters = 6;
constexpr int64_t y_height = 3, y_width = 4;

cudnnStatus_t convolve(cudnnBackendDescriptorType_t kind, const ManagedNumbers &x,
                       const ManagedNumbers &w, const ManagedNumbers &y, float alpha = 1,
                       float beta = 0) {
  ConvolutionGraph graph;
  graph.add_convolution(kind, graph.window({2, 1}, {1, 2}, {1, 0}, {1, 2}),
                        graph.tensor(x_id, {records, channels, height, width}),
                        graph.tensor(w_id, {filters, in_group, 3, 3}),
                        graph.tensor(y_id, {records, filters, y_height, y_width}), alpha, beta);
  return compute(graph, {x_id, w_id, y_id}, {x.data(), w.data(), y.data()});
}

// Calls with the places in memory of all numbers that are multiplied, channels last.
template <class Visit>
void for_each_product(Visit visit) {
  for (int64_t n = 0; n < records; ++n)
    for (int64_t f = 0; f < filters; ++f)
      for (int64_t i = 0; i < y_height; ++i)
        for (int64_t j = 0; j < y_width; ++j)
          for (int64_t c = 0; c < in_group; ++c)
            for (int64_t k = 0; k < 3; ++k)
              for (int64_t l = 0; l < 3; ++l) {
                const int64_t row = 2 * i - 1 + k, column = j + 2 * l;
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                const int64_t channel = f / 3 * in_group + c;
                visit(
                    static_cast<size_t>(((n * height + row) * width + column) * channels + channel),
                    static_cast<size_t>(((f * 3 + k) * 3 + l) * in_group + c),
                    static_cast<size_t>(((n * y_height + i) * y_width + j) * filters + f));
              }
}

constexpr size_t x_count = records * height * width * channels, w_count = filters * in_group * 9,
                 y_count = records * y_height * y_width * filters;

void test_a_convolution_is_the_sum_of_its_products(void **) {
  const ManagedNumbers x = some_numbers(x_count, 1), w = some_numbers(w_count, 2),
                       y = no_numbers(y_count);
  assert_equal(convolve(forward, x, w, y), CUDNN_STATUS_SUCCESS);
  std::vector<float> expected(y_count);
  for_each_product([&](size_t i, size_t j, size_t k) { expected[k] += x[i] * w[j]; });
  assert_equal(y.values(), expected);
  // What is there is added.
  assert_equal(convolve(forward, x, w, y, 2, 0.5), CUDNN_STATUS_SUCCESS);
  for (float &each : expected) each *= 2.5F;
  assert_equal(y.values(), expected);
}

void test_gradients_of_a_convolution(void **) {
  const ManagedNumbers x = some_numbers(x_count, 1), w = some_numbers(w_count, 2),
                       dy = some_numbers(y_count, 3), dx = no_numbers(x_count),
                       dw = no_numbers(w_count);
  assert_equal(convolve(backward_data, dx, w, dy), CUDNN_STATUS_SUCCESS);
  assert_equal(convolve(backward_filter, x, dw, dy), CUDNN_STATUS_SUCCESS);
  std::vector<float> of_x(x_count), of_w(w_count);
  for_each_product([&](size_t i, size_t j, size_t k) {
    of_x[i] += w[j] * dy[k];
    of_w[j] += x[i] * dy[k];
  });
  assert_equal(dx.values(), of_x);
  assert_equal(dw.values(), of_w);
}

// A filter of one number over 1x2 places with 2 channels: 2 and 3 go in, and -1 and -4.
void add_small(ConvolutionGraph &graph, cudnnBackendDescriptor_t y,
               cudnnDataType_t type = CUDNN_DATA_FLOAT) {
  graph.add_convolution(forward, graph.window({1, 1}, {1, 1}, {0, 0}, {0, 0}),
                        graph.tensor(x_id, {1, 2, 1, 2}, type),
                        graph.tensor(w_id, {2, 2, 1, 1}, type), y);
}
const std::vector<float> small_x = {2, 3, -1, -4}, small_w = {1, 10, 0, 1};

// The same with a bias and relu() in one graph, with a tensor that is not kept between them.
void add_fused(ConvolutionGraph &graph) {
  const auto between = graph.tensor(100, {1, 2, 1, 2}, CUDNN_DATA_FLOAT, true);
  const auto biased = graph.tensor(101, {1, 2, 1, 2}, CUDNN_DATA_FLOAT, true);
  add_small(graph, between);
  graph.add_pointwise(CUDNN_POINTWISE_ADD, between, graph.tensor(bias_id, {1, 2, 1, 1}), biased);
  graph.add_pointwise(CUDNN_POINTWISE_RELU_FWD, biased, nullptr, graph.tensor(y_id, {1, 2, 1, 2}));
}

void test_operations_are_fused(void **) {
  const ManagedNumbers x(small_x), w(small_w), y = no_numbers(4), bias({100, 1});
  ConvolutionGraph graph;
  add_fused(graph);
  assert_equal(
      compute(graph, {x_id, w_id, bias_id, y_id}, {x.data(), w.data(), bias.data(), y.data()}),
      CUDNN_STATUS_SUCCESS);
  assert_equal(y.values(), (std::vector<float>{132, 4, 59, 0}));
}

void test_channels_may_come_first(void **) {
  const ManagedNumbers x({2, -1, 3, -4}), w(small_w), y = no_numbers(4);
  ConvolutionGraph graph;
  graph.channels_last = false;
  add_small(graph, graph.tensor(y_id, {1, 2, 1, 2}));
  assert_equal(compute(graph, {x_id, w_id, y_id}, {x.data(), w.data(), y.data()}),
               CUDNN_STATUS_SUCCESS);
  assert_equal(y.values(), (std::vector<float>{32, -41, 3, -4}));
}

void test_tensors_may_have_16_bits(void **) {
  const ManagedNumbers x = no_numbers(2), w = no_numbers(2), y = no_numbers(4);
  auto *const of_x = reinterpret_cast<uint16_t *>(x.data());
  auto *const of_w = reinterpret_cast<uint16_t *>(w.data());
  for (size_t i = 0; i < 4; ++i) {
    of_x[i] = to_bf16(small_x[i]);
    of_w[i] = to_bf16(small_w[i]);
  }
  ConvolutionGraph graph;
  add_small(graph, graph.tensor(y_id, {1, 2, 1, 2}), CUDNN_DATA_BFLOAT16);
  assert_equal(compute(graph, {x_id, w_id, y_id}, {x.data(), w.data(), y.data()}),
               CUDNN_STATUS_SUCCESS);
  assert_equal(y.values(), (std::vector<float>{32, 3, -41, -4}));
}

void test_what_is_missing_or_does_not_fit_is_refused(void **) {
  ConvolutionGraph graph;
  graph.finalize(graph.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  assert_equal(graph.status, CUDNN_STATUS_BAD_PARAM);
  char why[80];
  cudnnGetLastErrorString(why, sizeof why);
  assert_non_null(std::strstr(why, "is missing in a descriptor"));
  ConvolutionGraph shapes;
  add_small(shapes, shapes.tensor(y_id, {1, 2, 1, 3}));
  assert_equal(shapes.status, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  ConvolutionGraph layouts;
  const auto channels_last = layouts.tensor(y_id, {1, 2, 1, 2});
  layouts.channels_last = false;
  add_small(layouts, channels_last);
  assert_equal(layouts.status, CUDNN_STATUS_SUCCESS);
  layouts.heuristic();
  assert_equal(layouts.status, CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
}

void test_children_outlive_what_uses_them(void **) {
  const ManagedNumbers x(small_x), w(small_w), y = no_numbers(4), workspace = no_numbers(16);
  ConvolutionGraph graph;
  const auto of_y = graph.tensor(y_id, {1, 2, 1, 2});
  add_small(graph, of_y);
  const auto plan = graph.plan(graph.configuration(graph.heuristic()));
  const auto execute = [&](std::vector<void *> memory, void *with) {
    return cudnnBackendExecute(graph.handle, plan, graph.pack({x_id, w_id, y_id}, memory, with));
  };
  assert_equal(execute({x.data(), w.data(), y.data()}, workspace.data()), CUDNN_STATUS_SUCCESS);
  assert_equal(execute({x.data(), w.data(), y.data()}, nullptr), CUDNN_STATUS_BAD_PARAM);
  assert_equal(execute({x.data(), w.data(), &y[1]}, workspace.data()),
               CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  cudnnBackendDestroyDescriptor(of_y);
  assert_equal(execute({x.data(), w.data(), y.data()}, workspace.data()), CUDNN_STATUS_BAD_PARAM);
  cudaDeviceSynchronize();
}

void test_engines_of_gradients_say_whether_they_are_exact(void **) {
  ConvolutionGraph graph;
  graph.add_convolution(backward_filter, graph.window({1, 1}, {1, 1}, {0, 0}, {0, 0}),
                        graph.tensor(x_id, {1, 2, 1, 2}), graph.tensor(w_id, {2, 2, 1, 1}),
                        graph.tensor(y_id, {1, 2, 1, 2}));
  const auto heuristic = graph.heuristic();
  cudnnBackendDescriptor_t found[] = {graph.make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
                                      graph.make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)};
  int64_t count = 0;
  graph.note(cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, &count, found));
  assert_equal(count, int64_t{2});
  for (const int64_t notes : {1, 0}) {
    auto engine = graph.make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    graph.note(cudnnBackendGetAttribute(found[1 - notes], CUDNN_ATTR_ENGINECFG_ENGINE,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine));
    cudnnBackendNumericalNote_t note = CUDNN_NUMERICAL_NOTE_TYPE_COUNT;
    graph.note(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                        CUDNN_TYPE_NUMERICAL_NOTE, 1, &count, &note));
    assert_equal(count, notes);
    if (notes == 1) assert_equal(note, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  }
  assert_equal(graph.status, CUDNN_STATUS_SUCCESS);
}

void test_graphs_may_be_refused(void **) {
  ConvolutionGraph fused, single;
  add_fused(fused);
  add_small(single, single.tensor(y_id, {1, 2, 1, 2}));
  setenv("EMULATED_CUDA_FAIL", "fused", 1);
  fused.heuristic();
  assert_equal(CUDNN_STATUS_CATEGORY(fused.status), CUDNN_STATUS_NOT_SUPPORTED);
  const auto configuration = single.configuration(single.heuristic());
  assert_equal(single.status, CUDNN_STATUS_SUCCESS);
  setenv("EMULATED_CUDA_FAIL", "graphs", 1);
  single.plan(configuration);
  unsetenv("EMULATED_CUDA_FAIL");
  assert_equal(single.status, CUDNN_STATUS_NOT_SUPPORTED);
}

}  // namespace
}  // namespace det::test

int test_emulated_convolution() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_a_convolution_is_the_sum_of_its_products),
      cmocka_unit_test(test_gradients_of_a_convolution),
      cmocka_unit_test(test_operations_are_fused),
      cmocka_unit_test(test_channels_may_come_first),
      cmocka_unit_test(test_tensors_may_have_16_bits),
      cmocka_unit_test(test_what_is_missing_or_does_not_fit_is_refused),
      cmocka_unit_test(test_children_outlive_what_uses_them),
      cmocka_unit_test(test_engines_of_gradients_say_whether_they_are_exact),
      cmocka_unit_test(test_graphs_may_be_refused),
  };
  return cmocka_run_group_tests_name("emulated_convolution", tests, nullptr, nullptr);
}
