// Steps of models of the layers engine, for bench_nn.py: nn_steps MODEL BATCH STEPS.
// Prints the nanoseconds of the median step, and of the time from the start of the process' main()
// to the end of the first; and in KiB what the process has had at most, and had as main() began.
#include <cmath>
#include <cstring>
#include <det/nn.hpp>
#include <fstream>
#include <string>

#include "tests/bench/measure.h"

using namespace det::nn;

struct Case {
  Model model;
  Batch records;
};

// `count` sines, in the shape of the records.
Array sines(const Shape &shape, int64_t count) {
  std::vector<float> x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  return Array(std::move(x), shape);
}

Array labels(const Shape &shape, int64_t count, int32_t classes) {
  std::vector<int32_t> truths(static_cast<size_t>(count));
  for (size_t i = 0; i < truths.size(); ++i) truths[i] = static_cast<int32_t>(i) % classes;
  return Array(std::move(truths), shape);
}

Case images(const std::vector<Layer> &layers, const Shape &image, int64_t batch) {
  Shape shape = image;
  shape.insert(shape.begin(), batch);
  return {Model::create(describe_sequential(layers, image)),
          {{sines(shape, batch * 784)}, {labels({batch}, batch, 10)}}};
}

// Four blocks of 64 features and 4 heads over 32 of 256 tokens.
Case transformer(int64_t batch) {
  const Value tokens = input({32}, "tokens", "int32");
  Value x = embedding(256, 64)(tokens);
  for (int i = 0; i < 4; ++i) {
    const Value normal = layer_normalization()(x);
    const Value seen = add()({x, multi_head_attention(4, 16)({normal, normal})});
    x = add()({seen, dense(64)(dense(256, relu)(layer_normalization()(seen)))});
  }
  const Value next = dense(256, softmax)(layer_normalization()(x));
  const Shape shape{batch, 32};
  return {Model::create(describe_functional({tokens}, {next})),
          {{labels(shape, batch * 32, 256)}, {labels(shape, batch * 32, 256)}}};
}

Case make(const std::string &name, int64_t batch) {
  if (name == "transformer") return transformer(batch);
  if (name == "lstm") return images({lstm(128), dense(10, softmax)}, {28, 28}, batch);
  if (name == "cnn")
    return images(
        {conv2d(32, {3, 3}, relu), max_pool2d(), batch_normalization(), conv2d(64, {3, 3}, relu),
         max_pool2d(), flatten(), dropout(0.25), dense(128, relu), dense(10, softmax)},
        {28, 28, 1}, batch);
  return images({dense(128, relu), dense(10, softmax)}, {784}, batch);
}

// Of this program: getrusage() tells that of the one that started it where that was larger.
long peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
  bench::die("/proc/self/status has no VmHWM");
}

int main(int argc, char **argv) {
  if (argc != 4) bench::die("nn_steps needs MODEL BATCH STEPS");
  const long loaded = peak_kib();
  const int64_t begin = bench::now_ns();
  const Case made = make(argv[1], std::atoll(argv[2]));
  made.model.compile(R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.01}},
                         "loss": "sparse_categorical_crossentropy"})");
  made.model.train_on_batch(made.records);
  const int64_t first = bench::now_ns() - begin;
  const auto steps = bench::measure(static_cast<size_t>(std::atoll(argv[3])), 0,
                                    [&](size_t) { made.model.train_on_batch(made.records); });
  std::printf("%lld %lld %ld %ld\n", static_cast<long long>(steps.median),
              static_cast<long long>(first), peak_kib(), loaded);
}
