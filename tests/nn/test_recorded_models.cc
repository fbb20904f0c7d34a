// Models as Keras writes them: tests/data/nn/models.
#include <algorithm>
#include <sstream>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/recorded/recorded_call.h"
#include "wrappers/nn/model/model.h"

namespace det::test {
namespace {

// With the weights that they have in Keras, and written as what opens to the same.
void test_models_of_keras_open(void **) {
  const Fixture fixture("models/opened");
  size_t opened = 0;
  fixture.for_each([&](const Json &about, const std::string &) {
    const nn::Model model(about["model"], {0, "reference"});
    std::vector<std::string> names;
    std::vector<nn::Shape> shapes;
    if (!about["weights"].is_null())
      for (const Json &weight : about["weights"]) {
        names.push_back(weight["name"]);
        shapes.push_back(weight["shape"]);
      }
    if (model.weights().all().size() != names.size())
      throw Error(Code::internal, "the number of weights differs");
    std::vector<size_t> places = places_of_weights(model.weights(), names, shapes);
    std::sort(places.begin(), places.end());
    if (std::adjacent_find(places.begin(), places.end()) != places.end())
      throw Error(Code::internal, "two weights of Keras are one of ours");
    const Json written = nn::write_model(model.graph());
    if (nn::write_model(*nn::read_model(written)) != written)
      throw Error(Code::internal, "what was written opens as another model");
    ++opened;
  });
  assert_int_equal(opened, fixture.cases().size());
}

// As Keras counts and shapes them, a line to each layer; what is called twice has one, too.
void test_summaries_have_the_layers_of_keras(void **) {
  const Fixture fixture("models/opened");
  size_t seen = 0;
  fixture.for_each([&](const Json &about, const std::string &) {
    if (about["rows"].is_null()) return;
    const std::string summary = nn::Model(about["model"], {0, "reference"}).summary();
    std::istringstream lines(summary);
    std::string line;
    for (int i = 0; i < 3; ++i) std::getline(lines, line);
    int64_t parameters = 0;
    for (const Json &row : about["rows"]) {
      nn::Shape shape;
      for (const Json &size : row[2]) shape.push_back(size.is_null() ? nn::unknown : int64_t{size});
      const std::string count = std::to_string(row[3].get<int64_t>());
      std::getline(lines, line);
      std::string words;
      for (const char c : line)
        if (c != ' ' || (!words.empty() && words.back() != ' ')) words += c;
      const std::string expected = row[0].get<std::string>() + " " + row[1].get<std::string>() +
                                   " " + nn::text_of(shape) + " " + count;
      if (!words.starts_with(expected))
        throw Error(Code::internal, "'" + words + "' is not '" + expected + "'");
      parameters += row[3].get<int64_t>();
    }
    std::getline(lines, line);
    if (!line.empty()) throw Error(Code::internal, "there is a line more: " + line);
    if (!contains(summary, "\n" + std::to_string(parameters) + " parameters: "))
      throw Error(Code::internal, "the number of parameters differs");
    ++seen;
  });
  assert_true(seen + 1 == fixture.cases().size());
}

void test_models_that_nothing_but_keras_opens_are_refused(void **) {
  const std::map<std::string, std::pair<Code, std::string>> expected{
      {"lambda_layer", {Code::unsupported, "'Lambda' is not supported: it is Python code"}},
      {"unknown_class", {Code::unsupported, "there is no layer of the class 'Doubling'"}},
      {"operator", {Code::unsupported, "the function of TensorFlow 'math.erf' is not supported"}},
      {"wrong_shapes", {Code::invalid, "'units'"}},
      {"missing_layer", {Code::invalid, "is called on a missing layer"}},
      {"cycle", {Code::invalid, "waits for itself"}},
  };
  const Fixture fixture("models/refused");
  assert_int_equal(fixture.cases().size(), expected.size());
  for (const Json &about : fixture.cases()) {
    const auto &[code, told] = expected.at(about["name"]);
    assert_true(contains(expect_error(code, [&] { nn::read_model(about["model"]); }), told));
  }
}

// Of Keras 3 the same is predicted, with weights under the same names.
void test_models_of_keras_3_open(void **) {
  const Fixture fixture("models/keras3");
  size_t opened = 0;
  const auto backend = nn::open_backend("reference");
  fixture.for_each([&](const Json &about, const std::string &) {
    RecordedCall(fixture, about, *backend).compare_outputs();
    const Json written = nn::write_model(*nn::read_model(about["model"]));
    const std::string text = to_wire(written);
    for (const char *of_keras_3 : {"DTypePolicy", "__keras_tensor__", "batch_shape"})
      if (contains(text, of_keras_3)) throw Error(Code::internal, "it is written as by Keras 3");
    if (nn::write_model(*nn::read_model(written)) != written)
      throw Error(Code::internal, "what was written opens as another model");
    ++opened;
  });
  assert_int_equal(opened, fixture.cases().size());
}

Json layer_policy() { return {{"class_name", "DTypePolicy"}, {"config", {{"name", "float32"}}}}; }

Json with_layer(const Json &layer) {
  return {{"class_name", "Sequential"},
          {"config",
           {{"name", "m"},
            {"layers",
             {{{"class_name", "InputLayer"},
               {"config", {{"name", "x"}, {"batch_input_shape", {nullptr, 4, 2}}}}},
              layer}}}}};
}

// With the name of what is missing, and what to do instead.
void test_refusals_say_what_to_do(void **) {
  const auto refusal_of = [](const std::string &class_name, const Json &config) {
    return expect_error(Code::unsupported, [&] {
      nn::read_model(with_layer({{"class_name", class_name}, {"config", config}}));
    });
  };
  const Json none = Json::object();
  assert_true(
      contains(refusal_of("StringLookup", none), "'StringLookup' is not supported: models"));
  assert_true(contains(refusal_of("TextVectorization", none), "the places of the words"));
  assert_true(contains(refusal_of("IntegerLookup", none), "in the vocabulary"));
  assert_true(contains(refusal_of("ConvLSTM2D", none), "TimeDistributed with Conv2D"));
  assert_true(contains(refusal_of("Conv3D", none), "use Conv2D"));
  assert_true(contains(refusal_of("LSTM", {{"name", "l"}, {"units", 2}, {"stateful", true}}),
                       "no state is kept from batch to batch; call it with the states before"));
  assert_true(
      contains(refusal_of("Dense", {{"name", "d"}, {"units", 2}, {"kernel_constraint", "radial"}}),
               "the constraint 'radial' is not supported; there are 'max_norm'"));
  const Json operation{{"module", "keras.src.ops.numpy"},
                       {"class_name", "Add"},
                       {"config", {{"name", "plus"}, {"dtype", layer_policy()}}}};
  assert_true(
      contains(expect_error(Code::unsupported, [&] { nn::read_model(with_layer(operation)); }),
               "it is a function of keras.ops; say what it computes by layers"));
  Json texts = with_layer({{"class_name", "Flatten"}, {"config", {{"name", "f"}}}});
  texts["config"]["layers"][0]["config"]["dtype"] = "string";
  assert_true(contains(expect_error(Code::unsupported, [&] { nn::read_model(texts); }),
                       "it takes texts, and models take numbers"));
}

}  // namespace
}  // namespace det::test

int test_recorded_models() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_models_of_keras_open),
      cmocka_unit_test(test_summaries_have_the_layers_of_keras),
      cmocka_unit_test(test_models_of_keras_3_open),
      cmocka_unit_test(test_refusals_say_what_to_do),
      cmocka_unit_test(test_models_that_nothing_but_keras_opens_are_refused),
  };
  return cmocka_run_group_tests_name("recorded_models", tests, nullptr, nullptr);
}
