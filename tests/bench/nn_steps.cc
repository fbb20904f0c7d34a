// Steps of models of the layers engine, for bench_nn.py: nn_steps MODEL BATCH STEPS.
// Prints the nanoseconds of the median step, and of the time from the start of the process' main()
// to the end of the first.
#include <cmath>
#include <cstring>
#include <det/nn.hpp>

#include "tests/bench/measure.h"

using namespace det::nn;

int main(int argc, char **argv) {
  if (argc != 4) bench::die("nn_steps needs MODEL BATCH STEPS");
  const int64_t begin = bench::now_ns();
  const bool is_cnn = std::strcmp(argv[1], "cnn") == 0;
  const int64_t batch = std::atoll(argv[2]);
  const Shape image = is_cnn ? Shape{28, 28, 1} : Shape{784};
  const Model model = Model::create(
      is_cnn ? describe_sequential({conv2d(32, {3, 3}, relu), max_pool2d(), batch_normalization(),
                                    conv2d(64, {3, 3}, relu), max_pool2d(), flatten(),
                                    dropout(0.25), dense(128, relu), dense(10, softmax)},
                                   image)
             : describe_sequential({dense(128, relu), dense(10, softmax)}, image));
  model.compile(R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.01}},
                    "loss": "sparse_categorical_crossentropy"})");
  std::vector<float> x(static_cast<size_t>(batch) * 784);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  std::vector<int32_t> labels(static_cast<size_t>(batch));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % 10);
  Shape shape = image;
  shape.insert(shape.begin(), batch);
  const Batch records{{Array(std::move(x), shape)}, {Array(std::move(labels))}};
  model.train_on_batch(records);
  const int64_t first = bench::now_ns() - begin;
  const auto steps = bench::measure(static_cast<size_t>(std::atoll(argv[3])), 0,
                                    [&](size_t) { model.train_on_batch(records); });
  std::printf("%lld %lld\n", static_cast<long long>(steps.median), static_cast<long long>(first));
}
