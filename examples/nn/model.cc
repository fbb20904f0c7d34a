// Trains a model of layers without a trial, and tests it.
//
//     c++ -std=c++17 model.cc $(pkg-config --cflags --libs detnn-cpp) -o model
//     ./model
#include <cmath>
#include <cstdio>
#include <det/nn.hpp>

using namespace det::nn;

int main() try {
  std::vector<float> points;
  std::vector<float> sines;
  for (int i = -50; i <= 50; ++i) {
    points.push_back(static_cast<float>(i) / 25);
    sines.push_back(std::sin(points.back()));
  }
  const Batch batch{{Array(points, {101, 1})}, {Array(sines, {101, 1})}};

  const Model model =
      Model::create(describe_sequential({dense(16, tanh_activation), dense(1)}, {1}));
  model.compile(R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.02}},
                    "loss": "mse"})");
  std::printf("%s\n", model.summary().c_str());
  for (int step = 0; step < 500; ++step) model.train_on_batch(batch);

  model.reset_metrics();
  model.test_on_batch(batch);
  const double loss = model.metrics().at("loss");
  std::printf("after %d batches: loss %.4f\n", static_cast<int>(model.steps().iterations), loss);
  return loss < 0.01 ? 0 : 1;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
