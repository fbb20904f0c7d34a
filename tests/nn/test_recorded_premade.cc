// Premade estimators against TensorFlow's: tests/data/nn/premade.
#include <cmath>
#include <det/estimator.hpp>
#include <fstream>

#include "tests/cmocka.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det::estimator;
namespace nn = det::nn;
using det::nn::Array;
using det::nn::Batch;
using Json = nlohmann::ordered_json;

const std::string folder = TEST_DATA "/nn/premade/estimators";

class Recorded {
 public:
  explicit Recorded(Json about)
      : about_(std::move(about)), arrays_(std::filesystem::path(folder + ".safetensors")) {}

  const Json &about() const { return about_; }
  std::string name() const { return about_["name"]; }
  bool contains(const std::string &key) const { return arrays_.contains(name() + "/" + key); }
  Array array(const std::string &key) const {
    const int64_t place = arrays_.find(name() + "/" + key);
    if (place < 0) fail_msg("%s: there is no %s", name().c_str(), key.c_str());
    const auto index = static_cast<size_t>(place);
    const Array read = Array::unset(arrays_.dtype(index), arrays_.shape(index));
    void *data = read.capi().data;
    arrays_.read({{name() + "/" + key, read.dtype(), read.shape(), data}});
    return read;
  }
  Batch batch() const {
    std::map<std::string, Array> features = {{"x", array("x")}};
    if (contains("w")) features.emplace("w", array("w"));
    Array labels = array("labels");
    if (!about_.contains("words")) return Batch::of(features, labels);
    std::vector<std::string> words;
    for (int64_t i = 0; i < labels.records(); ++i)
      words.push_back(about_["words"][static_cast<size_t>(labels.data<int64_t>()[i])]);
    return Batch::of(features, nn::texts(words, 0, {labels.records(), 1}));
  }

 private:
  Json about_;
  det::Tensors arrays_;
};

template <class Options>
Options head_of(const Json &about) {
  Options options;
  options.n_classes = about.value("classes", 2);
  options.label_dimension = about.value("dimension", 1);
  options.label_vocabulary = about.value("words", std::vector<std::string>());
  options.weight_column = about.value("weighted", false) ? "w" : "";
  if (about.value("sum", false)) options.loss_reduction = LossReduction::sum;
  options.optimizer = nn::sgd(0.1);
  return options;
}

Estimator estimator_of(const Json &about) {
  const std::string name = about["name"];
  const bool regresses = about.contains("dimension");
  const std::vector<DenseColumn> columns = {numeric_column("x", {2})};
  if (name.rfind("dnn", 0) == 0) {
    auto options = head_of<DNNOptions>(about);
    options.feature_columns = columns;
    options.hidden_units = {4};
    options.activation_fn = nn::tanh_activation;
    return regresses ? dnn_regressor(options) : dnn_classifier(options);
  }
  if (name.rfind("linear", 0) == 0) {
    auto options = head_of<LinearOptions>(about);
    options.feature_columns = columns;
    return regresses ? linear_regressor(options) : linear_classifier(options);
  }
  auto options = head_of<DNNLinearCombinedOptions>(about);
  options.linear_feature_columns = options.dnn_feature_columns = columns;
  options.dnn_hidden_units = {4};
  options.dnn_activation_fn = nn::tanh_activation;
  return regresses ? dnn_linear_combined_regressor(options)
                   : dnn_linear_combined_classifier(options);
}

void compare(const std::string &what, const float *found, const Array &expected) {
  for (size_t i = 0; i < expected.elements(); ++i)
    if (std::fabs(found[i] - expected.data()[i]) > 1e-5F * (1 + std::fabs(expected.data()[i])))
      fail_msg("%s: number %zu is %g, and %g in TensorFlow", what.c_str(), i,
               static_cast<double>(found[i]), static_cast<double>(expected.data()[i]));
}

void set_weights(const Recorded &recorded, const std::string &when, const Graph &graph) {
  for (const det::Tensor &weight : graph.model().weights()) {
    const Array given = recorded.array(when + "/" + weight.name);
    assert_true(given.elements() == weight.elements());
    std::copy_n(given.data(), given.elements(), static_cast<float *>(weight.data));
  }
}

std::vector<Recorded> all() {
  std::vector<Recorded> cases;
  for (const Json &about : Json::parse(std::ifstream(folder + ".json"))) cases.emplace_back(about);
  return cases;
}

void a_step_changes_the_same_weights(void **) {
  for (const Recorded &recorded : all()) {
    const Batch batch = recorded.batch();
    Graph graph(estimator_of(recorded.about()).model_fn(), Mode::train, batch, 0);
    set_weights(recorded, "before", graph);
    det::trials::Ranks ranks(det::DistributedView(nullptr), graph.model(), {});
    (void)graph.train_on_batch(batch, ranks);
    for (const det::Tensor &weight : graph.model().weights())
      compare(recorded.name() + ": " + weight.name, static_cast<const float *>(weight.data),
              recorded.array("after/" + weight.name));
  }
}

void evaluations_have_the_same_metrics(void **) {
  for (const Recorded &recorded : all()) {
    const Batch batch = recorded.batch();
    Graph graph(estimator_of(recorded.about()).model_fn(), Mode::evaluate, batch, 0);
    set_weights(recorded, "after", graph);
    const double loss = graph.test_on_batch(batch).loss();
    Json found = graph.metrics(det::DistributedView(nullptr));
    found["loss"] = loss;
    for (const auto &[name, expected] : recorded.about()["metrics"].items())
      if (!found.contains(name) ||
          std::fabs(found[name].get<double>() - expected.get<double>()) > 2e-5)
        fail_msg("%s: %s is %s, and %s in TensorFlow", recorded.name().c_str(), name.c_str(),
                 found.value(name, Json()).dump().c_str(), expected.dump().c_str());
    assert_true(found.size() == recorded.about()["metrics"].size());
  }
}

void saved_models_predict_the_same(void **) {
  const det::TemporaryDirectory directory;
  for (const Recorded &recorded : all()) {
    const Estimator estimator = estimator_of(recorded.about());
    const Batch features = Batch::of({{"x", recorded.array("x")}});
    const Graph graph(estimator.model_fn(), Mode::predict, features, 0);
    set_weights(recorded, "after", graph);
    const std::filesystem::path to = directory / recorded.name();
    detail::export_saved_model(graph, to);
    const auto found = load_estimator_from_checkpoint_path(to, estimator).predict(features);
    for (const char *name : {"logits", "logistic", "probabilities", "predictions"})
      if (recorded.contains(std::string("predicted/") + name))
        compare(recorded.name() + ": " + name, found.at(name).data(),
                recorded.array(std::string("predicted/") + name));
    if (!recorded.contains("predicted/class_ids")) continue;
    const Array ids = recorded.array("predicted/class_ids");
    const auto texts = nn::texts_of(found.at("classes"));
    for (size_t i = 0; i < ids.elements(); ++i) {
      assert_true(found.at("class_ids").data<int64_t>()[i] == ids.data<int64_t>()[i]);
      assert_true(texts[i] == recorded.about()["predicted_classes"][i].get<std::string>());
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_step_changes_the_same_weights),
      cmocka_unit_test(evaluations_have_the_same_metrics),
      cmocka_unit_test(saved_models_predict_the_same),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
