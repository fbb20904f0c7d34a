// Writes models for serving into checkpoints, and reads them. Follows
// tf.estimator.Estimator.export_saved_model() and load_estimator_from_checkpoint_path().
#pragma once

#include <det/estimator/graph.hpp>
#include <det/nn/texts.hpp>
#include <det/trials/files.hpp>

#include <algorithm>
#include <chrono>

namespace det {
inline namespace v1 {
namespace estimator {

// Returns features in the form in which they will arrive. Only their names, shapes and types count.
using ServingInputReceiverFn = std::function<nn::Batch()>;
using ServingInputReceiverFns = std::map<std::string, ServingInputReceiverFn>;

namespace detail {

inline constexpr const char *saved_model_file = "saved_model.json";
inline constexpr const char *variables_file = "variables.safetensors";
inline constexpr const char *onnx_file = "model.onnx";

// Writes into a directory below `directory`, named by the present second.
inline void export_saved_model(const Graph &graph, const std::filesystem::path &directory) {
  using std::chrono::system_clock;
  const auto second = system_clock::to_time_t(system_clock::now());
  const std::filesystem::path to = directory / std::to_string(second);
  std::filesystem::create_directories(to);
  const nlohmann::ordered_json described = {
      {"model", nlohmann::ordered_json::parse(graph.model().to_json().text())},
      {"inputs", graph.features().names()},
      {"predictions", graph.places()},
      {"classified", graph.spec().classified},
      {"classes", graph.spec().classes}};
  trials::write_text(to / saved_model_file, described.dump());
  graph.model().save_weights((to / variables_file).string());
  try {
    graph.model().write_onnx((to / onnx_file).string());
  } catch (const Error &refusal) {  // ONNX cannot express every model
    if (refusal.code() != Code::unsupported) throw;
  }
}

// Finds the saved model below a directory, at any depth. Throws std::runtime_error unless there is
// exactly one.
[[nodiscard]] inline std::filesystem::path saved_model_below(
    const std::filesystem::path &directory) {
  std::vector<std::filesystem::path> found;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.path().filename() == saved_model_file) found.push_back(entry.path().parent_path());
  if (found.size() == 1) return found[0];
  std::sort(found.begin(), found.end());
  std::string names;
  for (const auto &one : found) names += (names.empty() ? "'" : ", '") + one.string() + "'";
  throw std::runtime_error(
      "loading an estimator from '" + directory.string() + "': " +
      (found.empty() ? "there is no saved model in it; a trial's "
                       "build_serving_input_receiver_fns() says what its checkpoints have"
                     : "there are several saved models in it; load one of " + names));
}

}  // namespace detail

// A model that predicts. Use it on one thread at a time.
class SavedModel {
 public:
  // Reads a directory that has one. With the estimator of its trial it takes features as the trial
  // does. Without it, it takes the inputs of its model.
  explicit SavedModel(const std::filesystem::path &directory,
                      std::optional<Estimator> estimator = {})
      : estimator_(std::move(estimator)) {
    const auto described = trials::read_json(directory / detail::saved_model_file);
    inputs_ = described.at("inputs").get<std::vector<std::string>>();
    places_ = described.at("predictions").get<RunValues::Places>();
    classified_ = described.at("classified").get<std::string>();
    classes_ = described.value("classes", std::vector<std::string>());
    model_ = nn::Model::create(described.at("model"));
    model_.load_weights((directory / detail::variables_file).string());
  }

  // The names of unchanged features, and of the numbers of feature columns. Those are
  // "input_layer", or with an embedding "input_layer/NAME/numbers" for each part.
  [[nodiscard]] const std::vector<std::string> &inputs() const { return inputs_; }
  [[nodiscard]] const nn::Model &model() const { return model_; }

  // The predictions by the names of the model_fn. A classifier adds "probabilities", {records,
  // classes}, and "class_ids" and "classes", which are texts, {records, 1}. If a feature is
  // missing, it throws std::out_of_range, and the message has the needed ones.
  [[nodiscard]] std::map<std::string, nn::Array> predict(const nn::Batch &features) const {
    const std::vector<Tensor> results = model_.predict_on_batch(numbers_of(features));
    std::map<std::string, nn::Array> predictions;
    for (const auto &[name, place] : places_) {
      const Tensor &result = results.at(place);
      const auto *first = static_cast<const float *>(result.data);
      predictions[name] =
          nn::Array(std::vector<float>(first, first + result.elements()), result.shape);
    }
    if (!classified_.empty()) add_classes(predictions);
    return predictions;
  }

 private:
  void add_classes(std::map<std::string, nn::Array> &predictions) const {
    const nn::Array ids = classes_of(predictions.at(classified_));
    std::vector<std::string> names;
    for (int64_t record = 0; record < ids.records(); ++record) {
      const auto id = static_cast<size_t>(ids.data<int64_t>()[record]);
      names.push_back(classes_.empty() ? std::to_string(id) : classes_.at(id));
    }
    predictions["class_ids"] = ids;
    predictions["classes"] = nn::texts(names, 0, {ids.records(), 1});
    const auto one = predictions.find("logistic");
    if (one == predictions.end() || one->second.shape().back() != 1) return;
    std::vector<float> both;
    for (int64_t record = 0; record < ids.records(); ++record) {
      const float second = one->second.data()[record];
      both.insert(both.end(), {1 - second, second});
    }
    predictions["probabilities"] = nn::Array(std::move(both), {ids.records(), 2});
  }
  // The place of the largest of several logits. A single logit above 0 means the second of two
  // classes.
  [[nodiscard]] static nn::Array classes_of(const nn::Array &logits) {
    const auto classes = logits.shape().back();
    std::vector<int64_t> found;
    for (const float *first = logits.data(), *end = first + logits.elements(); first != end;
         first += classes)
      found.push_back(classes == 1 ? *first > 0 : std::max_element(first, first + classes) - first);
    const auto records = static_cast<int64_t>(found.size());
    return nn::Array(std::move(found), {records, 1});
  }
  [[nodiscard]] std::vector<nn::Array> numbers_of(const nn::Batch &batch) const {
    std::vector<nn::Array> numbers;
    if (estimator_) {
      Features features(batch);
      (void)estimator_->model_fn()(features, Mode::predict);
      return features.read(batch).inputs;
    }
    for (const std::string &name : inputs_) {
      // A single feature without a name gets the name of its input.
      const bool is_alone = inputs_.size() == 1 && name == "features" && batch.input_names.empty();
      try {
        numbers.push_back(batch.feature(is_alone ? "" : name));
      } catch (const std::out_of_range &missing) {
        throw std::out_of_range(std::string("predicting with a saved model: ") + missing.what() +
                                "; without the estimator of its trial it takes the numbers of "
                                "inputs()");
      }
    }
    return numbers;
  }

  std::optional<Estimator> estimator_;
  std::vector<std::string> inputs_;
  RunValues::Places places_;
  std::string classified_;
  std::vector<std::string> classes_;
  nn::Model model_;
};

// Finds the saved model in the directory of a checkpoint, or in a directory within. Throws
// std::runtime_error unless there is exactly one.
[[nodiscard]] inline SavedModel load_estimator_from_checkpoint_path(
    const std::filesystem::path &directory, std::optional<Estimator> estimator = {}) {
  return SavedModel(detail::saved_model_below(directory), std::move(estimator));
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
