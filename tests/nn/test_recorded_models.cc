// Models as Keras writes them: tests/data/nn/models.
#include <algorithm>
#include <sstream>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/recorded/recorded_call.h"
#include "wrappers/nn/model.h"

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
      {"operator", {Code::unsupported, "'TFOpLambda' is not supported"}},
      {"wrong_shapes", {Code::invalid, "'units'"}},
      {"missing_layer", {Code::invalid, "is called on what is not there"}},
      {"cycle", {Code::invalid, "waits for itself"}},
  };
  const Fixture fixture("models/refused");
  assert_int_equal(fixture.cases().size(), expected.size());
  for (const Json &about : fixture.cases()) {
    const auto &[code, told] = expected.at(about["name"]);
    assert_true(contains(expect_error(code, [&] { nn::read_model(about["model"]); }), told));
  }
}

}  // namespace
}  // namespace det::test

int test_recorded_models() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_models_of_keras_open),
      cmocka_unit_test(test_summaries_have_the_layers_of_keras),
      cmocka_unit_test(test_models_that_nothing_but_keras_opens_are_refused),
  };
  return cmocka_run_group_tests_name("recorded_models", tests, nullptr, nullptr);
}
