// Trains a deep network over a feature column on the digits, as a trial of det::estimator.
//
// c++ -std=c++17 digits_classifier.cc $(pkg-config --cflags --libs detnn-cpp) -o digits_classifier
// det run digits_classifier.yaml -- ./digits_classifier
#include <det/estimator.hpp>

#include "digits.hpp"

using namespace det::estimator;

class DigitsTrial : public EstimatorTrial {
 public:
  using EstimatorTrial::EstimatorTrial;

  Estimator build_estimator() override {
    const auto units = context().get_hparam<int64_t>("units");
    DNNOptions options;
    options.hidden_units = {units, units / 2};
    options.feature_columns = {numeric_column("image", {8, 8, 1})};
    options.n_classes = 10;
    options.dropout = context().get_hparam<double>("dropout");
    options.optimizer =
        context().wrap_optimizer(det::nn::adam(context().get_hparam<double>("learning_rate")));
    return dnn_classifier(options);
  }
  TrainSpec build_train_spec() override {
    return {[this] { return digits(false); }};
  }
  EvalSpec build_validation_spec() override {
    return {[this] { return digits(true); }};
  }
  ServingInputReceiverFns build_serving_input_receiver_fns() override {
    return {{"classify", [] { return read_digits(true).rows(0, 1); }}};
  }

 private:
  det::nn::Dataset digits(bool to_test_on) {
    auto dataset = det::nn::Dataset::from_arrays(read_digits(to_test_on));
    if (!to_test_on) dataset = dataset.shuffle(1437, 1);
    return context().wrap_dataset(dataset.batch(context().get_per_slot_batch_size()));
  }
};

int main(int argc, char **argv) { return det::run_trial<DigitsTrial>(argc, argv); }
