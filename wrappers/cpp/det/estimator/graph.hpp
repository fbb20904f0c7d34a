// The model of a model_fn, made for one mode.
#pragma once

#include <det/estimator/spec.hpp>
#include <det/trials/ranks.hpp>

namespace det {
inline namespace v1 {
namespace estimator {

class Graph {
 public:
  // Throws std::invalid_argument if the answer of the model_fn is incomplete.
  Graph(const ModelFn &model_fn, Mode mode, const nn::Batch &example, int64_t seed)
      : features_(example), spec_(model_fn(features_, mode)) {
    if (spec_.predictions.empty()) refuse("it gives no predictions");
    std::vector<nn::Value> outputs;
    for (const auto &[name, value] : spec_.predictions) {
      const auto same = std::find_if(outputs.begin(), outputs.end(), [&given = value](auto &one) {
        return one.node() == given.node() && one.output_index() == given.output_index();
      });
      places_[name] = static_cast<size_t>(same - outputs.begin());
      if (same == outputs.end()) outputs.push_back(value);
    }
    nn::ModelOptions options;
    options.seed = static_cast<uint64_t>(seed);
    model_ = nn::Model::create(nn::describe_functional(features_.inputs(), outputs), options);
    if (mode != Mode::predict) compile(outputs.size(), mode);
  }

  [[nodiscard]] const nn::Model &model() const { return model_; }
  [[nodiscard]] const EstimatorSpec &spec() const { return spec_; }
  [[nodiscard]] const Features &features() const { return features_; }
  [[nodiscard]] const RunValues::Places &places() const { return places_; }

  // Takes the present weights of the other mode's model.
  void take_weights(const Graph &other) const {
    std::map<std::string, Tensor> known;
    for (const Tensor &weight : other.model_.weights()) known.emplace(weight.name, weight);
    for (const Tensor &weight : model_.weights()) {
      const auto found = known.find(weight.name);
      if (found == known.end() || found->second.shape != weight.shape)
        refuse("the weight '" + weight.name + "' is in one mode and not in another, or has " +
               "another shape there; name its layer with named(), alike in all modes");
      std::memcpy(weight.data, found->second.data, weight.elements() * sizeof(float));
    }
  }

  [[nodiscard]] RunValues train_on_batch(const nn::Batch &given, const trials::Ranks &ranks) {
    const nn::Batch batch = to_compare(given);
    model_.reset_metrics();
    ranks.train_on_batch(features_.read(batch));
    RunValues values(model_, places_, batch, loss());
    for (const auto &[name, scalar] : spec_.summaries) values.summaries[name] = scalar(values);
    values.summaries.emplace("loss", values.loss());
    return values;
  }

  [[nodiscard]] RunValues test_on_batch(const nn::Batch &given) {
    const nn::Batch batch = to_compare(given);
    const double before = loss() * static_cast<double>(records_);
    model_.test_on_batch(features_.read(batch));
    records_ += batch.records();
    const double sum = loss() * static_cast<double>(records_) - before;
    const RunValues values(model_, places_, batch, sum / static_cast<double>(batch.records()));
    for (const auto &[name, metric] : spec_.metrics) metric->update(values);
    return values;
  }

  // The metrics of all tested batches, except the loss. All ranks in step.
  [[nodiscard]] nlohmann::ordered_json metrics(const DistributedView &job) const {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    const nn::Metrics of_model = model_.metrics();
    const std::string result = model_.results()[places_.at(spec_.compared)].name;
    for (const auto &[name, described] : spec_.keras_metrics) {
      const auto alone = of_model.find(name);
      all[name] = alone != of_model.end() ? alone->second : of_model.at(result + "_" + name);
    }
    for (const auto &[name, metric] : spec_.metrics) all[name] = metric->result(job);
    return all;
  }

 private:
  [[noreturn]] static void refuse(const std::string &why) {
    throw std::invalid_argument("calling the model_fn of an estimator: " + why);
  }

  // Adds the labels and the weights of records in the form that the model compares.
  [[nodiscard]] nn::Batch to_compare(nn::Batch batch) const {
    if (batch.truths.size() != 1)
      throw std::invalid_argument("training an estimator: a batch has one array of labels, not " +
                                  std::to_string(batch.truths.size()));
    if (!spec_.weight_column.empty()) {
      const nn::Array &given = detail::feature_of(batch, spec_.weight_column);
      if (detail::width_of(given) != 1)
        detail::refuse_feature(spec_.weight_column, "a weight_column has one number a record");
      batch.sample_weights = {
          nn::Array(detail::numbers_of<float>(spec_.weight_column, given), {given.records()})};
    }
    if (spec_.read_labels) batch.truths[0] = spec_.read_labels(batch.truths[0]);
    if (spec_.check) spec_.check(batch);
    return batch;
  }

  // The loss over all batches since the last reset. It is the model's first metric.
  [[nodiscard]] double loss() const { return det_nn_model_metric(model_.capi(), 0); }

  void compile(size_t results, Mode mode) {
    using Json = nlohmann::ordered_json;
    const auto place = places_.find(spec_.compared);
    if (place == places_.end())
      refuse("what it compares with the labels, '" + spec_.compared +
             "', is none of its predictions");
    if (mode == Mode::train && !spec_.optimizer) refuse("it gives no optimizer to train with");
    Json named = Json::array();
    for (const auto &[name, metric] : spec_.keras_metrics) {
      if (mode != Mode::evaluate) break;
      Json described = metric;
      if (metric.is_string()) described = Json::object({{"class_name", metric}});
      described["config"]["name"] = name;
      named.push_back(std::move(described));
    }
    std::vector<Json> losses(results), metrics(results);
    losses[place->second] = spec_.loss;
    metrics[place->second] = named;
    Json options;
    options["loss"] = losses;
    options["metrics"] = results == 1 ? named : Json(metrics);
    if (mode == Mode::train) options["optimizer"] = Json::parse(spec_.optimizer->json());
    model_.compile(options);
  }

  Features features_;
  EstimatorSpec spec_;
  RunValues::Places places_;
  nn::Model model_;
  int64_t records_ = 0;
};

}  // namespace estimator
}  // namespace v1
}  // namespace det
