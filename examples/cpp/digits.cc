// Trains a small network to read handwritten digits.
//
// You can pause or kill the program at any moment. The next start resumes from the latest
// checkpoint. The result is the same to the last bit, with or without interruptions.
//
//     cc -c ../c/digits_model.c
//     c++ -std=c++17 digits.cc digits_model.o $(pkg-config --cflags --libs detcore-cpp) -o digits
//     ./digits [IMAGES.csv]
//
// Hyperparameters: learning_rate, momentum, weight_decay, hidden_size, batch_size.
// DIGITS_BATCH_MS adds this number of milliseconds to each batch, so that you can watch.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <det/core.hpp>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "../c/digits_model.h"
}

namespace {

constexpr const char *config = R"({
  "name": "digits",
  "searcher": {"name": "single", "metric": "accuracy", "smaller_is_better": false,
               "max_length": {"epochs": 40}},
  "hyperparameters": {"learning_rate": 0.05, "momentum": 0.9, "weight_decay": 1e-4,
                      "hidden_size": 64, "batch_size": 64},
  "reproducibility": {"experiment_seed": 1}
})";

struct InvalidHparams : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Images {
 public:
  explicit Images(const char *csv_path) {
    if (dataset_read(&data_, csv_path) != 0) throw std::runtime_error("no images to learn from");
  }
  Images(const Images &) = delete;
  Images &operator=(const Images &) = delete;
  ~Images() { dataset_free(&data_); }

  const dataset *operator->() const { return &data_; }

 private:
  dataset data_{};
};

class Perceptron {
 public:
  Perceptron(int64_t hidden_size, uint64_t seed) {
    if (model_init(&model_, static_cast<size_t>(hidden_size), seed) != 0) throw std::bad_alloc();
  }
  Perceptron(const Perceptron &) = delete;
  Perceptron &operator=(const Perceptron &) = delete;
  ~Perceptron() { model_free(&model_); }

  model &get() { return model_; }

 private:
  model model_{};
};

struct Hyperparameters {
  optimizer descent;
  int64_t hidden_size, batch_size;

  Hyperparameters(const det::Hparams &hparams, const Images &images)
      : descent{hparams.get<double>("learning_rate", 0.05), hparams.get<double>("momentum", 0.9),
                hparams.get<double>("weight_decay", 1e-4)},
        hidden_size(hparams.get<int64_t>("hidden_size", 64)),
        batch_size(hparams.get<int64_t>("batch_size", 64)) {
    if (hidden_size < 1 || hidden_size > MODEL_MAX_HIDDEN || batch_size < 1 ||
        batch_size > static_cast<int64_t>(images->train_count))
      throw InvalidHparams(
          "hidden_size must be from 1 to 4096, batch_size from 1 to the number of images");
  }
};

class Training {
 public:
  Training(const det::Core &core, const Images &images)
      : core_(core),
        images_(images),
        hyperparameters_(core.info().hparams(), images),
        seed_(static_cast<uint64_t>(core.info().trial_seed())),
        perceptron_(hyperparameters_.hidden_size, seed_),
        batch_size_(static_cast<size_t>(hyperparameters_.batch_size)),
        batches_per_epoch_((images->train_count + batch_size_ - 1) / batch_size_),
        order_(images->train_count) {
    if (const char *checkpoint = core.info().latest_checkpoint()) restore(checkpoint);
  }

  // Trains up to the length of each operation, or until this process is asked to stop.
  void run() {
    for (const det::Operation operation : core_.searcher().operations()) {
      const auto end = static_cast<uint64_t>(operation.length()) * batches_per_epoch_;
      while (progress_.batches < end) {
        const bool stopped = !train_epoch();
        if (!stopped) report();
        save();
        if (stopped) return;
        operation.report_progress(static_cast<double>(progress_.batches) /
                                  static_cast<double>(batches_per_epoch_));
      }
      const score test = evaluate();
      operation.report_completed(test.accuracy);
      std::printf("accuracy %.4f, loss %.9f\n", test.accuracy, test.loss);
    }
  }

 private:
  // The state that a later run cannot compute again. It can compute the order of the images from
  // the trial's seed and the epoch.
  struct Progress {
    uint64_t batches = 0;  // since the start of the trial
    double loss = 0;       // summed over the images of this epoch so far
  };

  // Trains to the end of the epoch. Returns false if asked to stop earlier.
  bool train_epoch() {
    static const char *const delay = std::getenv("DIGITS_BATCH_MS");
    const size_t epoch = progress_.batches / batches_per_epoch_;
    size_t batch = progress_.batches % batches_per_epoch_;
    shuffle(order_.data(), order_.size(), seed_ + epoch);
    if (batch == 0) progress_.loss = 0;

    for (; batch < batches_per_epoch_; ++batch) {
      if (core_.preempt().should_preempt()) return false;
      const size_t first = batch * batch_size_;
      const size_t count = std::min(batch_size_, order_.size() - first);
      progress_.loss += model_train(&perceptron_.get(), &hyperparameters_.descent, images_->train,
                                    &order_[first], count);
      ++progress_.batches;
      if (delay != nullptr)
        std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(delay)));
    }
    return true;
  }

  score evaluate() {
    return model_evaluate(&perceptron_.get(), images_->test, images_->test_count);
  }

  void report() {
    const auto step = static_cast<int64_t>(progress_.batches);
    const score test = evaluate();
    const double loss = progress_.loss / static_cast<double>(order_.size());
    core_.train().report_training_metrics(step, {{"loss", loss}});
    core_.train().report_validation_metrics(step,
                                            {{"loss", test.loss}, {"accuracy", test.accuracy}});
  }

  // Passes every part of the state to `part(char *, size)`.
  template <class Part>
  void for_each_part(Part part) {
    model &all = perceptron_.get();
    part(reinterpret_cast<char *>(&progress_), sizeof progress_);
    part(reinterpret_cast<char *>(all.weights), all.count * sizeof *all.weights);
    part(reinterpret_cast<char *>(all.velocity), all.count * sizeof *all.velocity);
  }

  void save() {
    const det::CheckpointWriter store = core_.checkpoint().write(
        "{\"steps_completed\": " + std::to_string(progress_.batches) + "}");
    std::ofstream file(store.path() / "digits.bin", std::ios::binary);
    file.exceptions(std::ios::failbit | std::ios::badbit);
    for_each_part([&](const char *part, size_t size) {
      file.write(part, static_cast<std::streamsize>(size));
    });
    file.close();
    store.commit();  // only now it becomes visible
  }

  void restore(const char *checkpoint) {
    const det::CheckpointReader stored = core_.checkpoint().read(checkpoint);
    std::ifstream file(stored.path() / "digits.bin", std::ios::binary);
    file.exceptions(std::ios::failbit | std::ios::badbit);
    for_each_part(
        [&](char *part, size_t size) { file.read(part, static_cast<std::streamsize>(size)); });
  }

  const det::Core &core_;
  const Images &images_;
  Hyperparameters hyperparameters_;
  uint64_t seed_;
  Perceptron perceptron_;
  size_t batch_size_, batches_per_epoch_;
  std::vector<uint32_t> order_;  // the images in the order of this epoch
  Progress progress_;
};

}  // namespace

int main(int argc, char **argv) try {
  const Images images(argc > 1 ? argv[1] : DIGITS_CSV);
  det::CoreOptions options;
  options.config = config;
  options.preempt_signals = {SIGTERM};  // from Slurm, Kubernetes or a spot machine
  const det::Core core = det::Core::init(options);
  try {
    Training(core, images).run();
    core.close();
  } catch (const InvalidHparams &error) {
    std::cerr << "digits: " << error.what() << '\n';
    core.close(det::Outcome::invalid_hp);  // the master has the reason; it would retry a failure
  }
  return core.exit_status();  // not 0 if more work remains
} catch (const std::exception &error) {
  std::cerr << "digits: " << error.what() << '\n';
  return 1;
}
