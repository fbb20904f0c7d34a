// What FitOptions::verbose() prints.
#pragma once

#include <det/keras/callback.hpp>
#include <det/nlohmann_json.hpp>

#include <cstdio>
#include <optional>

namespace det {
inline namespace v1 {
namespace keras {
namespace detail {

// Which parts of a whole are worth a line: each new tenth of it.
class Tenths {
 public:
  explicit Tenths(int64_t whole = 0) : whole_(whole) {}

  [[nodiscard]] std::optional<std::string> line(int64_t done) {
    const int64_t percent = whole_ > 0 ? done * 100 / whole_ : 100;
    if (percent / 10 <= told_) return std::nullopt;
    told_ = percent / 10;
    return std::to_string(percent) + "% complete (" + std::to_string(done) + "/" +
           std::to_string(whole_) + ")";
  }

 private:
  int64_t whole_, told_ = -1;
};

// A line for every tenth of a workload. How long a validation is, is known after the first.
class ProgressPrinter : public Callback {
 public:
  void on_train_workload_begin(int64_t total_batches, int64_t batches) override {
    total_ = total_batches;
    done_ = 0;
    training_ = Tenths(batches);
    tell_training({});
  }
  void on_train_batch_end(int64_t /*batch*/, const Metrics &metrics) override {
    ++total_;
    ++done_;
    tell_training(metrics);
  }
  void on_test_begin() override {
    tested_ = 0;
    validation_ = Tenths(validation_length_);
    tell_validation({});
  }
  void on_test_batch_end(int64_t /*batch*/, const Metrics &metrics) override {
    ++tested_;
    tell_validation(metrics);
  }
  void on_test_end(const Metrics & /*metrics*/) override { validation_length_ = tested_; }

  [[nodiscard]] Json get_state() const override {
    return nlohmann::json{{"validation_len", validation_length_}, {"trained_total", total_}};
  }
  void load_state(const Json &state) override {
    const auto said = state.as<nlohmann::json>();
    validation_length_ = said.at("validation_len").get<int64_t>();
    total_ = said.at("trained_total").get<int64_t>();
  }
  [[nodiscard]] std::string name() const override { return "ProgressPrinter"; }
  [[nodiscard]] bool is_for_chief_only() const override { return true; }

 private:
  void tell_training(const Metrics &metrics) {
    if (const auto line = training_.line(done_))
      print("total batches trained: " + std::to_string(total_) + ", workload " + *line, metrics);
  }
  void tell_validation(const Metrics &metrics) {
    if (validation_length_ == 0) return;
    if (const auto line = validation_.line(tested_))
      print("validation after batch: " + std::to_string(total_) + ", validation " + *line, metrics);
  }
  static void print(std::string line, const Metrics &metrics) {
    const char *before = ": ";
    for (const auto &[name, value] : metrics) {
      char number[32];
      std::snprintf(number, sizeof number, "%.6g", value);
      line += std::exchange(before, ", ") + name + " " + number;
    }
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }

  int64_t total_ = 0, done_ = 0, tested_ = 0, validation_length_ = 0;
  Tenths training_, validation_;
};

}  // namespace detail
}  // namespace keras
}  // namespace v1
}  // namespace det
