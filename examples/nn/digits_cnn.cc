// Trains a convolutional network on the digits, as a trial of det::keras.
//
//     c++ -std=c++17 digits_cnn.cc $(pkg-config --cflags --libs detnn-cpp) -o digits_cnn
//     ./digits_cnn --config const.yaml --test
//     det run const.yaml -- ./digits_cnn
//     det run adaptive.yaml -- ./digits_cnn
//     det run distributed.yaml -- ./digits_cnn
#include <det/keras.hpp>

#include "digits.hpp"

using namespace det::nn;

class DigitsTrial : public det::keras::Trial {
 public:
  using Trial::Trial;

  det::keras::TrialModel build_model() override {
    const auto filters = context().get_hparam<int64_t>("filters");
    auto model = context().wrap_model(describe_sequential(
        {conv2d(filters, {3, 3}, relu).padding("same"), max_pool2d(), batch_normalization(),
         conv2d(2 * filters, {3, 3}, relu).padding("same"), max_pool2d(), flatten(),
         dropout(context().get_hparam<double>("dropout")), dense(64, relu), dense(10, softmax)},
        {8, 8, 1}));
    model.compile(context().wrap_optimizer(adam(context().get_hparam<double>("learning_rate"))),
                  "sparse_categorical_crossentropy", {"accuracy"});
    return model;
  }
  det::keras::InputData build_training_data_loader() override { return read_digits(false); }
  det::keras::InputData build_validation_data_loader() override { return read_digits(true); }
};

int main(int argc, char **argv) { return det::run_trial<DigitsTrial>(argc, argv); }
