// Feature columns against TensorFlow's: tests/data/nn/feature_columns.
#include <cmath>
#include <det/estimator.hpp>
#include <det/nlohmann_json.hpp>
#include <det/nn.hpp>
#include <fstream>

#include "tests/cmocka.h"

namespace {

using namespace det::estimator;
namespace nn = det::nn;
using det::nn::Array;
using det::nn::Batch;
using Json = nlohmann::ordered_json;

Json recorded(const char *name) {
  return Json::parse(std::ifstream(TEST_DATA + std::string("/nn/feature_columns/") + name));
}

Array feature_of(const Json &values) {
  const nn::Shape shape{static_cast<int64_t>(values.size()),
                        static_cast<int64_t>(values[0].size())};
  const auto flat = [&](auto kind) {
    std::vector<decltype(kind)> all;
    for (const Json &record : values)
      for (const Json &value : record) all.push_back(value.get<decltype(kind)>());
    return all;
  };
  if (values[0][0].is_string()) return nn::texts(flat(std::string()), 0, shape);
  if (values[0][0].is_number_integer()) return Array(flat(int64_t()), shape);
  return Array(flat(double()), shape);
}

CategoricalColumn categories_of(const Json &about) {
  const std::string kind = about["kind"];
  const std::string key = about["key"];
  if (kind == "identity") {
    std::optional<int64_t> otherwise;
    if (about.contains("default_value")) otherwise = about["default_value"].get<int64_t>();
    return categorical_column_with_identity(key, about["num_buckets"], otherwise);
  }
  if (kind == "hash_bucket")
    return categorical_column_with_hash_bucket(key, about["hash_bucket_size"]);
  const Json &words = about["vocabulary_list"];
  if (words[0].is_string())
    return categorical_column_with_vocabulary_list(key, words.get<std::vector<std::string>>());
  return categorical_column_with_vocabulary_list(key, words.get<std::vector<int64_t>>());
}

DenseColumn column_of(const Json &about) {
  const std::string kind = about["kind"];
  if (kind == "numeric") return numeric_column(about["key"], about["shape"].get<nn::Shape>());
  const Json &over = about["over"];
  if (kind == "bucketized")
    return bucketized_column(numeric_column(over["key"], over["shape"].get<nn::Shape>()),
                             about["boundaries"]);
  if (kind == "indicator") return indicator_column(categories_of(over));
  EmbeddingOptions options;
  options.combiner = about.value("combiner", options.combiner);
  return embedding_column(categories_of(over), about["dimension"], options);
}

// What a model of an input layer gives.
Array numbers_of_model(const Json &about, const Batch &batch,
                       const std::vector<DenseColumn> &columns) {
  Features features(batch);
  const nn::Value layer = features.input_layer(columns);
  const nn::Model model = nn::Model::create(
      nn::describe_functional(features.inputs(), {nn::activation(nn::linear)(layer)}));
  std::map<std::string, std::vector<float>> weights;
  for (size_t i = 0; i < columns.size(); ++i)
    if (about["columns"][i].contains("weights")) {
      std::vector<float> &all = weights["input_layer/" + columns[i].name() + "/kernel"];
      for (const Json &row : about["columns"][i]["weights"])
        all.insert(all.end(), row.begin(), row.end());
    }
  for (const det::Tensor &weight : model.weights()) {
    const std::vector<float> &given = weights.at(weight.name);
    assert_true(weight.elements() == given.size());
    std::copy(given.begin(), given.end(), static_cast<float *>(weight.data));
  }
  const det::Tensor result = model.predict_on_batch(features.read(batch).inputs).at(0);
  const auto *first = static_cast<const float *>(result.data);
  return Array(std::vector<float>(first, first + result.elements()), result.shape);
}

void layers_are_those_of_tensorflow(void **) {
  for (const Json &about : recorded("layers.json")) {
    std::map<std::string, Array> features;
    for (const auto &[name, values] : about["features"].items())
      features.emplace(name, feature_of(values));
    std::vector<DenseColumn> columns;
    for (const Json &column : about["columns"]) columns.push_back(column_of(column));
    const Array found = numbers_of_model(about, Batch::of(features), columns);
    std::vector<float> expected;
    for (const Json &record : about["expected"])
      expected.insert(expected.end(), record.begin(), record.end());
    assert_true(found.elements() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      if (std::fabs(found.data()[i] - expected[i]) > 1e-6F * (1 + std::fabs(expected[i])))
        fail_msg("%s: number %zu is %g, and %g in TensorFlow", about["name"].dump().c_str(), i,
                 static_cast<double>(found.data()[i]), static_cast<double>(expected[i]));
  }
}

void fingerprints_are_those_of_tensorflow(void **) {
  const Json about = recorded("fingerprints.json")[0];
  for (size_t i = 0; i < about["texts"].size(); ++i)
    assert_string_equal(std::to_string(fingerprint64(about["texts"][i].get<std::string>())).c_str(),
                        about["fingerprints"][i].get<std::string>().c_str());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(layers_are_those_of_tensorflow),
      cmocka_unit_test(fingerprints_are_those_of_tensorflow),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
