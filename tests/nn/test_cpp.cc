// Models through det/nn.hpp.
#include <clocale>
#include <cmath>
#include <cstring>
#include <det/nn.hpp>

#include "tests/cmocka.h"

namespace {

using namespace det::nn;

Batch batch_of(int64_t records) {
  std::vector<float> x(static_cast<size_t>(records) * 4);
  std::vector<int32_t> labels(static_cast<size_t>(records));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i + 1));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = x[4 * i] > 0 ? 1 : 0;
  return {{Array(std::move(x), {records, 2, 2})}, {Array(std::move(labels))}};
}

const char *const compiled =
    R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.5}},
  "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]})";

void a_sequential_model_learns(void **) {
  const Model model =
      Model::create(describe_sequential({flatten(), dense(8, relu), dense(2, softmax)}, {2, 2}),
                    {5, "reference"});
  model.compile(compiled);
  const Batch batch = batch_of(16);
  for (int i = 0; i < 200; ++i) model.train_on_batch(batch);
  model.reset_metrics();
  model.test_on_batch(batch);
  assert_true(model.metrics().at("accuracy") == 1);
  const auto results = model.predict_on_batch({batch.inputs[0].rows(3, 5)});
  assert_true(results.at(0).shape == (Shape{2, 2}));
  assert_true(results[0].name == "dense_1");
  assert_int_equal(model.steps().iterations, 200);
}

void arrays_are_of_the_type_of_their_numbers(void **) {
  assert_true(Array(std::vector<int8_t>{1}).dtype() == det::Dtype::i8);
  assert_true(Array(std::vector<int16_t>{1}).dtype() == det::Dtype::i16);
  assert_true(Array(std::vector<uint32_t>{1}).dtype() == det::Dtype::u32);
  assert_true(Array(std::vector<float>{1}).dtype() == det::Dtype::f32);
  assert_true(Array(std::vector<long>{1}).dtype() == det::Dtype::i64);
}

void numbers_are_written_alike_in_every_locale(void **) {
  // Stays as it is where there is no such locale.
  for (const char *name : {"C", "de_DE.UTF-8", "fr_FR.UTF-8"}) {
    std::setlocale(LC_NUMERIC, name);
    assert_string_equal(ConfigValue(0.1).text().c_str(), "0.1");
    assert_string_equal(ConfigValue(1.5F).text().c_str(), "1.5");
    assert_string_equal(ConfigValue(-1e300).text().c_str(), "-1e+300");
  }
  std::setlocale(LC_NUMERIC, "C");
}

void an_array_has_no_negative_sizes(void **) {
  for (const Shape &shape : {Shape{-1, -4}, Shape{int64_t{1} << 62, 4, 4}}) {
    bool refused = false;
    try {
      (void)Array(std::vector<float>(4), shape);
    } catch (const std::invalid_argument &) {
      refused = true;
    }
    assert_true(refused);
  }
}

void layers_are_called_as_functions(void **) {
  const Layer shared = dense(3, tanh_activation);
  const Value a = input({4}, "a");
  const Value b = input({4});
  const Value sum = add()({shared(a), shared(b)});
  const Model model =
      Model::create(describe_functional({a, b}, {dense(2, softmax).named("out \"1\"")(sum)}));
  const auto weights = model.weights();
  assert_int_equal(weights.size(), 4);
  assert_true(weights[0].name == "dense/kernel" && weights[2].name == "out \"1\"/kernel");
  const Array one(std::vector<float>{1, 2, 3, 4}, {1, 4});
  const auto results = model.predict_on_batch({one, one});
  const auto *scores = static_cast<const float *>(results.at(0).data);
  assert_true(std::fabs(scores[0] + scores[1] - 1) < 1e-5F);
}

void results_without_a_loss_are_computed_all_the_same(void **) {
  const Value x = input({2}, "x");
  const Value hidden = dense(3, relu).named("hidden")(x);
  const Model model =
      Model::create(describe_functional({x}, {hidden, dense(1).named("out")(hidden)}));
  model.compile(R"({"optimizer": "sgd", "loss": [null, "mse"], "metrics": {"out": ["mae"]}})");
  det::Failure failure;
  (void)model.results(failure);
  assert_true(failure && failure.code() == det::Code::state);
  const Batch batch{{Array(std::vector<float>{1, 2, 3, 4}, {2, 2})},
                    {Array(std::vector<float>{1, 0}, {2, 1})}};
  model.test_on_batch(batch);
  const auto tested = model.results();
  assert_int_equal(tested.size(), 2);
  assert_true(tested[0].name == "hidden" && tested[0].shape == (Shape{2, 3}));
  const float before = *static_cast<const float *>(tested[1].data);
  model.train_on_batch(batch);
  assert_true(*static_cast<const float *>(model.results()[1].data) == before);
  const auto metrics = model.metrics();
  assert_int_equal(metrics.size(), 3);
  assert_true(metrics.count("out_loss") == 1 && metrics.count("out_mae") == 1);
  for (const char *refused : {R"({"loss": [null, null]})",
                              R"({"loss": [null, "mse"], "metrics": {"hidden": ["mae"]}})"}) {
    det::Failure why;
    model.compile(refused, why);
    assert_true(why && why.code() == det::Code::invalid);
  }
}

void a_normalization_is_adapted_to_records(void **) {
  const Array records(std::vector<float>{1, 5, 3, 5, 5, 5, 7, 5}, {4, 2});
  const Model model = Model::create(describe_sequential({adapted_normalization(records)}, {2}));
  assert_int_equal(model.weights().size(), 0);
  const auto results = model.predict_on_batch({records});
  const auto *given = static_cast<const float *>(results.at(0).data);
  for (int record = 0; record < 4; ++record) {
    const float expected = (static_cast<float>(2 * record) - 3) / std::sqrt(5.0F);
    assert_true(std::fabs(given[2 * record] - expected) < 1e-6F);
    assert_true(given[2 * record + 1] == 0);  // what never changes says nothing
  }
  const Array wrong[] = {Array(std::vector<int>{1, 2}, {1, 2}), Array(std::vector<float>{1, 2}),
                         Array(std::vector<float>{}, {0, 2})};
  for (const Array &refused : wrong) {
    std::string said;
    try {
      (void)adapted_normalization(refused);
    } catch (const std::invalid_argument &refusal) {
      said = refusal.what();
    }
    assert_true(said.find("adapting a normalization: ") == 0);
  }
  // Else it has weights, which are those of numbers that need nothing.
  const Model plain = Model::create(describe_sequential({normalization()}, {2}));
  assert_int_equal(plain.weights().size(), 3);
}

void what_is_left_out_and_weighted_is_said_by_name(void **) {
  const Model model = Model::create(
      describe_sequential({lstm(3).dropout(0.2).recurrent_dropout(0.3).activity_regularizer("l2"),
                           dense(4, mish), dense(4, log_softmax), dense(2, sigmoid)},
                          {4, 2}));
  model.compile(R"({"optimizer": "sgd", "loss": {"class_name": "MeanSquaredError",
    "config": {"reduction": "none"}}, "metrics": ["mae", {"class_name": "Precision", "config":
    {"name": "precision", "thresholds": [0.25, 0.5]}}], "weighted_metrics": ["mae", "mse"]})");
  Batch batch{{Array(std::vector<float>(16, 1), {2, 4, 2})},
              {Array(std::vector<float>{1, 0, 0, 1}, {2, 2})}};
  batch.sample_weights = {Array(std::vector<float>{1, 3})};
  model.train_on_batch(batch);
  const auto metrics = model.metrics();
  for (const char *name :
       {"loss", "mae", "precision_at_0.25", "precision_at_0.5", "weighted_mae", "mse"})
    assert_true(metrics.count(name) == 1);
  assert_int_equal(metrics.size(), 6);
  assert_true(metrics.at("mae") != metrics.at("weighted_mae"));
}

void attention_leaves_out_scores_in_training(void **) {
  const auto losses = [](double rate) {
    const Value x = input({4, 2});
    const Model model =
        Model::create(describe_functional({x}, {multi_head_attention(2, 2).dropout(rate)({x, x})}));
    model.compile(R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0}},
      "loss": "mse"})");
    const Batch batch{{Array(std::vector<float>{1, 0, 2, 1, 0, 3, 1, 1}, {1, 4, 2})},
                      {Array(std::vector<float>(8, 1), {1, 4, 2})}};
    std::vector<double> found;
    for (int step = 0; step < 3; ++step) {
      model.reset_metrics();
      model.train_on_batch(batch);
      found.push_back(model.metrics().at("loss"));
    }
    model.reset_metrics();
    model.test_on_batch(batch);
    found.push_back(model.metrics().at("loss"));
    return found;
  };
  const auto whole = losses(0), in_part = losses(0.5);
  assert_true(whole[0] == whole[2] && in_part[0] != in_part[1] && in_part[1] != in_part[2]);
  assert_true(in_part[3] == whole[3]);
}

void no_activation_is_none(void **) {
  const char *none = nullptr;
  const Model model =
      Model::create(describe_sequential({dense(3, none), dense(2).activation(none)}, {2}));
  assert_int_equal(model.weights().size(), 4);
}

void only_sizes_of_records_are_unknown(void **) {
  (void)input({-1, 3});
  for (const int64_t size : {int64_t{-2}, int64_t{0}}) {
    std::string said;
    try {
      (void)input({3, size});
    } catch (const std::invalid_argument &refusal) {
      said = refusal.what();
    }
    assert_string_equal(said.c_str(),
                        ("describing an input: its shape has a size of " + std::to_string(size) +
                         "; sizes are 1 and more, or -1 where they are not known")
                            .c_str());
  }
}

void a_model_without_an_optimizer_is_only_tested(void **) {
  const Model model = Model::create(describe_sequential({dense(1)}, {2}));
  model.compile(R"({"loss": "mse"})");
  const Batch batch{{Array(std::vector<float>{1, 2}, {1, 2})}, {Array(std::vector<float>{1})}};
  model.test_on_batch(batch);
  det::Failure failure;
  model.train_on_batch(batch, failure);
  assert_true(failure && failure.code() == det::Code::state);
  assert_non_null(std::strstr(failure.message(), "without an 'optimizer'"));
  assert_int_equal(model.steps().trained, 0);
}

// For people: what is called twice has one line, and a model without an input its first batch.
void a_model_is_summarised(void **) {
  const auto image = input({8, 8, 1}, "image");
  const auto shared = dense(3).named("shared");
  const auto flat = flatten().named("flat")(image);
  const Model model = Model::create(describe_functional(
      {image}, {concatenate().named("both")({shared(flat), shared(flat)})}, "digits"));
  assert_string_equal(model.summary().c_str(),
                      "model 'digits' (Functional)\n\n"
                      "layer   class        gives            parameters  called on\n"
                      "image   InputLayer   (None, 8, 8, 1)           0\n"
                      "flat    Flatten      (None, 64)                0  image\n"
                      "shared  Dense        (None, 3)               195  flat\n"
                      "both    Concatenate  (None, 6)                 0  shared\n\n"
                      "195 parameters: 195 are trained, 0 are not\n");

  const Model waiting =
      Model::create(describe_sequential({dense(2).named("dense"), batch_normalization()}));
  det::Failure failure;
  assert_string_equal(waiting.summary(failure).c_str(), "");
  assert_true(failure && failure.code() == det::Code::state);
  static_cast<void>(waiting.predict_on_batch({Array(std::vector<float>(12), {4, 3})}));
  assert_non_null(std::strstr(waiting.summary().c_str(), "(None, 2)           8"));
  assert_non_null(
      std::strstr(waiting.summary().c_str(), "16 parameters: 12 are trained, 4 are not\n"));
}

// A policy of the model is that of its layers, but for one that says its own.
void a_model_computes_in_16_bits(void **) {
  const auto in = input({2});
  const Layer last = dense(2).set("dtype", "float32");
  for (const det::Json &described :
       {describe_sequential({dense(3), last}, {2}, "mixed", "mixed_float16"),
        describe_functional({in}, {last(dense(3)(in))}, "mixed", "mixed_float16")}) {
    const Model model = Model::create(described);
    model.compile(R"({"optimizer": "sgd", "loss": "mse"})");
    const std::string written = model.to_json().text();
    const size_t layers = written.find("\"layers\"");
    const size_t first = written.find("\"dtype\":\"mixed_float16\"", layers);
    assert_true(first != std::string::npos);
    assert_true(written.find("\"dtype\":\"mixed_float16\"", first + 1) == std::string::npos);
  }
}

void what_cannot_be_is_thrown(void **) {
  bool refused = false;
  try {
    (void)Model::create(describe_sequential({dense(0)}, {2}));
  } catch (const det::Error &error) {
    refused = error.code() == det::Code::invalid &&
              std::string(error.what()).find("'units'") != std::string::npos;
  }
  assert_true(refused);
  det::Failure failure;
  const Model none = Model::create("{}", {}, failure);
  assert_true(failure && none.capi() == nullptr);
}

void a_file_of_keras_is_loaded(void **) {
  det::Failure failure;
  const Model none = Model::load("/no-such.keras", {}, failure);
  assert_true(failure && none.capi() == nullptr);
#ifdef DET_HAS_HDF5
  const std::string files = TEST_DATA "/nn/files/";
  const Model model = Model::load(files + "model.keras");
  model.load_weights(files + "weights.h5");
  const auto results = model.predict_on_batch({Array(std::vector<float>(12), {2, 3, 2})});
  assert_true(results.at(0).name == "inner" && results[0].shape == (Shape{2, 3, 2}));
#endif
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_sequential_model_learns),
      cmocka_unit_test(arrays_are_of_the_type_of_their_numbers),
      cmocka_unit_test(numbers_are_written_alike_in_every_locale),
      cmocka_unit_test(an_array_has_no_negative_sizes),
      cmocka_unit_test(layers_are_called_as_functions),
      cmocka_unit_test(results_without_a_loss_are_computed_all_the_same),
      cmocka_unit_test(a_normalization_is_adapted_to_records),
      cmocka_unit_test(what_is_left_out_and_weighted_is_said_by_name),
      cmocka_unit_test(attention_leaves_out_scores_in_training),
      cmocka_unit_test(no_activation_is_none),
      cmocka_unit_test(only_sizes_of_records_are_unknown),
      cmocka_unit_test(a_model_without_an_optimizer_is_only_tested),
      cmocka_unit_test(a_model_is_summarised),
      cmocka_unit_test(a_model_computes_in_16_bits),
      cmocka_unit_test(what_cannot_be_is_thrown),
      cmocka_unit_test(a_file_of_keras_is_loaded),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
