// Models as a whole: read, trained, written again, and refused.
#include "wrappers/nn/model/model.h"

#include <cmath>
#include <cstdlib>
#include <new>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/operation_case.h"
#include "tests/nn/suite/small_model.h"

namespace det::test {
namespace {

// Calls of operator new by this thread.
thread_local size_t allocations = 0;

using nn::Array;
using nn::Batch;
using nn::Model;

const Json sparse = sparse_losses(layer("SGD", {{"learning_rate", 0.5}}));

void test_training_makes_the_loss_smaller(void **) {
  Model model(small_model(), {1, "reference"});
  model.compile(sparse);
  const Batch batch = batch_of(64);
  model.train_on_batch(batch);
  const double first = model.training().metrics().at(0);
  for (int step = 0; step < 400; ++step) model.train_on_batch(batch);
  model.training().reset_metrics();
  model.test_on_batch(batch);
  assert_true(model.training().metric_names() == (std::vector<std::string>{"loss", "accuracy"}));
  assert_true(model.training().metrics().at(0) < first / 3);
  assert_true(model.training().metrics().at(1) > 0.9);
  assert_int_equal(model.training().optimizer().iterations(), 401);
}

void test_the_same_seed_gives_the_same_bits(void **) {
  const Batch batch = batch_of(16);
  std::vector<float> last;
  for (const uint64_t seed : {3, 3, 4}) {
    Model model(small_model(), {seed, "reference"});
    model.compile(sparse);
    for (int step = 0; step < 5; ++step) model.train_on_batch(batch);
    const auto values = model.weights().trained().elements();
    const std::vector<float> now(values.begin(), values.end());
    if (!last.empty()) assert_int_equal(now == last, seed == 3);
    last = now;
  }
}

void test_a_step_takes_no_memory(void **) {
  for (const char *backend : nn::backend_names()) {
    Model model(small_model(), {1, backend});
    model.compile(sparse);
    const Batch batch = batch_of(2);
    model.train_on_batch(batch);
    model.test_on_batch(batch);
    const size_t before = allocations;
    for (int step = 0; step < 3; ++step) {
      model.train_on_batch(batch);
      model.test_on_batch(batch);
    }
    assert_int_equal(allocations - before, 0);
  }
}

void test_what_is_written_is_read_again(void **) {
  const Model model(small_model(), {1, "reference"});
  const Json written = nn::write_model(model.graph());
  assert_string_equal(to_wire(nn::write_model(*nn::read_model(written))).c_str(),
                      to_wire(written).c_str());
  assert_int_equal(model.weights().all().size(), 4);
  assert_string_equal(model.weights().at(2).name.c_str(), "dense_1/kernel");
}

// A call of a layer, and what comes out of it.
Json reference(const std::string &layer, int call = 0) {
  return Json::array({layer, call, 0, Json::object()});
}

// As "layers" of a functional model has it.
Json functional_layer(const char *class_name, const std::string &name, Json config, Json inbound) {
  config["name"] = name;
  return Json{
      {"class_name", class_name}, {"name", name}, {"config", config}, {"inbound_nodes", inbound}};
}

Json functional(Json layers, Json inputs, Json outputs) {
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "two"},
            {"layers", std::move(layers)},
            {"input_layers", std::move(inputs)},
            {"output_layers", std::move(outputs)}}}};
}

void test_layers_may_be_shared_and_called_in_any_order(void **) {
  const Json described = functional(
      {functional_layer(
           "Add", "sum", Json::object(),
           Json::array({Json::array({reference("shared", 0), reference("shared", 1)})})),
       functional_layer(
           "Dense", "shared", {{"units", 2}},
           Json::array({Json::array({reference("a")}), Json::array({reference("b")})})),
       functional_layer("InputLayer", "a", {{"batch_input_shape", {nullptr, 3}}}, Json::array()),
       functional_layer("InputLayer", "b", {{"batch_input_shape", {nullptr, 3}}}, Json::array())},
      Json::array({reference("b"), reference("a")}), Json::array({reference("sum")}));
  Model model(described, {2, "reference"});
  assert_int_equal(model.weights().all().size(), 2);
  assert_string_equal(model.graph().inputs()[0].name.c_str(), "b");
  const Array a(floats({1, 3}));
  const Array b(floats({1, 3}));
  fill_randomly(a, 1);
  fill_randomly(b, 2);
  const float *kernel = model.weights().at(0).value.data();
  float expected = 0;
  for (size_t i = 0; i < 3; ++i) expected += (a.data()[i] + b.data()[i]) * kernel[2 * i];
  const Array result = model.predict_on_batch({b, a}).at(0);
  assert_true(std::fabs(result.data()[0] - expected) < 1e-5F);
  const Json written = nn::write_model(model.graph());
  assert_string_equal(to_wire(nn::write_model(*nn::read_model(written))).c_str(),
                      to_wire(written).c_str());
  Json beyond = described;
  beyond["config"]["output_layers"][0][2] = 1;
  assert_true(contains(expect_error(Code::invalid,
                                    [&] {
                                      Model(beyond, {2, "reference"}).predict_on_batch({b, a});
                                    }),
                       "output 1 of the layer 'sum'"));
}

// Each waits for the next one that is read.
void test_a_long_model_may_be_written_from_its_end(void **) {
  constexpr int length = 5000;
  Json layers = Json::array();
  for (int i = length; i > 0; --i)
    layers.push_back(
        functional_layer("Rescaling", "r" + std::to_string(i), {{"scale", 1}, {"offset", 1}},
                         Json::array({Json::array({reference("r" + std::to_string(i - 1))})})));
  layers.push_back(
      functional_layer("InputLayer", "r0", {{"batch_input_shape", {nullptr, 1}}}, Json::array()));
  const std::string last = "r" + std::to_string(length);
  const auto described = [&] {
    return functional(layers, Json::array({reference("r0")}), Json::array({reference(last)}));
  };
  const auto refuse = [&] {
    return expect_error(Code::invalid, [&] { nn::read_model(described()); });
  };
  Model model(described(), {0, "reference"});
  assert_true(model.predict_on_batch({Array(floats({1, 1}))}).at(0).data()[0] == length);
  layers[length - 1]["inbound_nodes"][0][0][0] = last;
  assert_true(contains(refuse(), "waits for itself"));
  layers[length - 1]["name"] = layers[length - 1]["config"]["name"] = "r0";
  assert_true(contains(refuse(), "two layers have the name 'r0'"));
}

// Weights are there to be loaded, unless they depend on what a model leaves open.
void test_models_of_sequences_of_any_length_have_weights(void **) {
  const auto described = [](const char *class_name, Json config) {
    return sequential(
        {layer("InputLayer", {{"batch_input_shape", {nullptr, nullptr, 2}}, {"name", "x"}}),
         layer(class_name, std::move(config)), layer("Dense", {{"units", 3}})});
  };
  const Model recurrent(described("GRU", {{"units", 4}}), {1, "reference"});
  assert_true(recurrent.is_built());
  assert_true(recurrent.weights().at(3).options.shape == (nn::Shape{4, 3}));
  assert_false(Model(described("Flatten", Json::object()), {1, "reference"}).is_built());
  // No window of it fits into what is tried.
  assert_false(Model(described("Conv1D", {{"filters", 2}, {"kernel_size", 100}}), {1, "reference"})
                   .is_built());
}

// However much of a difference in what comes in is pooled away before they depend on it.
void test_weights_that_depend_on_a_length_wait_for_it(void **) {
  Model model(sequential({layer("InputLayer",
                                {{"batch_input_shape", {nullptr, nullptr, 2}}, {"name", "x"}}),
                          layer("MaxPooling1D", {{"pool_size", 4}}),
                          layer("Flatten", Json::object()), layer("Dense", {{"units", 3}})}),
              {1, "reference"});
  assert_false(model.is_built());
  expect_error(Code::state, [&] { model.summary(); });
  model.predict_on_batch({Array(floats({5, 12, 2}))});
  assert_true(model.weights().at(0).options.shape == (nn::Shape{6, 3}));
  const std::string summary = model.summary();
  assert_true(contains(summary, "(None, 3, 2)") && contains(summary, "\n21 parameters: "));
}

void test_what_cannot_be_is_refused(void **) {
  const auto read = [](Json described) {
    return expect_error(Code::invalid, [&] { Model(described, {0, "reference"}); });
  };
  Json misspelt = small_model();
  misspelt["config"]["layers"][2]["config"]["unit"] = 3;
  assert_true(contains(read(misspelt), "did you mean 'units'"));
  misspelt = small_model();
  misspelt["config"]["layers"][2]["config"]["activation"] = "rleu";
  assert_true(contains(read(misspelt), "did you mean 'relu'"));
  misspelt = small_model();
  misspelt["config"]["layers"][2]["class_name"] = "Dens";
  assert_true(contains(expect_error(Code::unsupported,
                                    [&] {
                                      Model(misspelt, {0, "reference"});
                                    }),
                       "did you mean 'Dense'"));
  misspelt = small_model();
  for (const int layer : {1, 2}) misspelt["config"]["layers"][layer]["config"]["name"] = "same";
  assert_true(contains(read(misspelt), "two layers have the name 'same'"));
  misspelt = small_model();
  misspelt["config"]["layers"][1]["config"]["name"] = 7;
  assert_true(contains(read(misspelt), "'name'"));

  Model model(small_model(), {1, "reference"});
  Batch batch = batch_of(4);
  assert_true(contains(expect_error(Code::state, [&] { model.train_on_batch(batch); }), "compile"));
  model.compile(sparse);
  const auto refuse = [&](Batch wrong) {
    return expect_error(Code::invalid, [&] { model.train_on_batch(wrong); });
  };
  batch.truths[0].data<int32_t>()[2] = 3;
  const std::string told = refuse(batch);
  assert_true(contains(told, "record 2") && contains(told, "classes 0 to 2"));
  // No class 1 of those of 64 bits.
  Batch long_labels = batch_of(4);
  long_labels.truths[0] = Array({{4}, nn::Dtype::i64});
  long_labels.truths[0].data<int64_t>()[3] = (int64_t{1} << 32) + 1;
  assert_true(contains(refuse(long_labels), "record 3"));
  Batch wide = batch_of(4);
  wide.inputs[0] = Array(floats({4, 2, 4}));
  const std::string misfit = refuse(wide);
  assert_true(contains(misfit, "'dense' (Dense)") &&
              contains(misfit, "; it was given (4, 8) by the layer 'flatten' (Flatten)"));
  assert_true(contains(refuse(batch_of(0)), "no records"));
  Batch short_truth = batch_of(4);
  short_truth.truths[0] = Array(ints({3}));
  assert_true(contains(refuse(short_truth), "(3,)"));
  // Nothing of all that has trained anything.
  assert_int_equal(model.training().optimizer().iterations(), 0);
}

// Neither side of 0 is the way to less.
void test_weights_of_zero_stay_so_under_l1(void **) {
  const Json l1 = layer("L1", {{"l1", 0.5}});
  Model model(sequential(Json::array({layer("Dense", {{"units", 2},
                                                      {"kernel_initializer", "zeros"},
                                                      {"kernel_regularizer", l1},
                                                      {"batch_input_shape", {nullptr, 3}}})})),
              {1, "reference"});
  model.compile({{"optimizer", "sgd"}, {"loss", "mse"}});
  model.train_on_batch({{Array(floats({1, 3}))}, {Array(floats({1, 2}))}, {}});
  for (const float value : model.weights().at(0).value.elements()) assert_true(value == 0);
}

void test_metrics_are_made_when_a_model_is_compiled(void **) {
  Model model(small_model(), {1, "reference"});
  model.compile(sparse);
  assert_true(model.training().metric_names() == (std::vector<std::string>{"loss", "accuracy"}));
  const Json precision = {{"class_name", "Precision"}, {"config", {{"class_id", 3}}}};
  assert_true(contains(
      expect_error(Code::invalid,
                   [&] {
                     model.compile({{"loss", "mse"}, {"metrics", Json::array({precision})}});
                   }),
      "of the class 3"));
  model.train_on_batch(batch_of(4));  // as it was compiled before
}

void test_an_id_that_is_in_no_table_is_told_with_its_record(void **) {
  const Json described = {
      {"class_name", "Sequential"},
      {"config",
       {{"layers",
         {{{"class_name", "Embedding"},
           {"config", {{"input_dim", 5}, {"output_dim", 3}, {"batch_input_shape", {nullptr, 4}}}}},
          {{"class_name", "Bidirectional"},
           {"config",
            {{"layer",
              {{"class_name", "LSTM"}, {"config", {{"units", 2}, {"return_sequences", true}}}}},
             {"merge_mode", "ave"}}}},
          {{"class_name", "GRU"}, {"config", {{"units", 3}}}},
          {{"class_name", "Dense"}, {"config", {{"units", 2}, {"activation", "softmax"}}}}}}}}};
  Model model(described, {1, "reference"});
  model.compile(sparse);
  const Array ids(ints({3, 4}));
  const Array labels(ints({3}));
  for (int i = 0; i < 12; ++i) ids.data<int32_t>()[i] = i % 5;
  model.train_on_batch({{ids}, {labels}, {}});
  const int64_t steps = model.steps();
  for (const int32_t wrong : {-1, 5}) {
    ids.data<int32_t>()[6] = wrong;
    const auto refuse = [&](const auto &use) { return expect_error(Code::invalid, use); };
    const std::string told = refuse([&] { model.train_on_batch({{ids}, {labels}, {}}); });
    assert_true(contains(told, "'embedding'") && contains(told, "record 1") &&
                contains(told, std::to_string(wrong)));
    assert_string_equal(refuse([&] { model.predict_on_batch({ids}); }).c_str(), told.c_str());
  }
  assert_int_equal(model.steps(), steps);
}

}  // namespace
}  // namespace det::test

void *operator new(size_t size, const std::nothrow_t &) noexcept {
  ++det::test::allocations;
  return std::malloc(size);
}
void *operator new(size_t size) {
  if (void *memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

int test_model() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_training_makes_the_loss_smaller),
      cmocka_unit_test(test_the_same_seed_gives_the_same_bits),
      cmocka_unit_test(test_a_step_takes_no_memory),
      cmocka_unit_test(test_what_is_written_is_read_again),
      cmocka_unit_test(test_layers_may_be_shared_and_called_in_any_order),
      cmocka_unit_test(test_a_long_model_may_be_written_from_its_end),
      cmocka_unit_test(test_models_of_sequences_of_any_length_have_weights),
      cmocka_unit_test(test_weights_that_depend_on_a_length_wait_for_it),
      cmocka_unit_test(test_what_cannot_be_is_refused),
      cmocka_unit_test(test_weights_of_zero_stay_so_under_l1),
      cmocka_unit_test(test_metrics_are_made_when_a_model_is_compiled),
      cmocka_unit_test(test_an_id_that_is_in_no_table_is_told_with_its_record),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
