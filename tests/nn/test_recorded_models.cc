// Models as Keras writes them: tests/data/nn/models.
#include <algorithm>

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
      cmocka_unit_test(test_models_that_nothing_but_keras_opens_are_refused),
  };
  return cmocka_run_group_tests_name("recorded_models", tests, nullptr, nullptr);
}
