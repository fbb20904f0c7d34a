// A trial for test_keras.py: it writes each hook that is called, and its last weights. With
// DIE_AFTER_BATCH=N its process dies within that batch, counted over the whole trial. OPTIMIZER is
// what it is trained with, as JSON, where it is not the usual one; empty: nothing says it. CONFIG
// has more of its configuration.
#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <det/keras.hpp>

namespace {

using namespace det::nn;
namespace keras = det::keras;

int64_t number_of(const char *variable) {
  const char *text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : -1;
}

class Hooks : public keras::Callback {
 public:
  explicit Hooks(int64_t rank) : rank_(rank), is_chief_(rank == 0) {}

  void on_train_begin() override { say("train_begin"); }
  void on_train_end() override {
    say("train_end");
    for (const det::Tensor &weight : model().weights()) {
      if (is_chief_) std::printf("weight %s", weight.name.c_str());
      const auto *values = static_cast<const float *>(weight.data);
      for (size_t i = 0; is_chief_ && i < weight.elements(); ++i)
        std::printf(" %a", static_cast<double>(values[i]));
      if (is_chief_) std::printf("\n");
    }
  }
  void on_epoch_begin(int64_t epoch) override { say("epoch_begin", epoch); }
  void on_epoch_end(int64_t epoch) override { say("epoch_end", epoch); }
  void on_train_workload_begin(int64_t total, int64_t batches) override {
    total_ = total;
    say("workload_begin", total, batches);
  }
  void on_train_workload_end(int64_t total, const Metrics &metrics) override {
    say("workload_end", total);
    if (is_chief_) std::printf("loss %a\n", metrics.at("loss"));
  }
  void on_train_batch_end(int64_t batch, const Metrics &) override {
    say("batch_end", batch);
    if (++total_ == number_of("DIE_AFTER_BATCH") && is_here("DIE_RANK")) kill(getpid(), SIGKILL);
    if (total_ == number_of("STOP_AFTER_BATCH") && is_here("STOP_RANK")) stop_training();
  }
  void on_test_end(const Metrics &metrics) override {
    say("test_end");
    if (is_chief_) std::printf("val_loss %a\n", metrics.at("val_loss"));
  }
  void on_checkpoint_end(const std::filesystem::path &) override {
    say("checkpoint_end");
    if (std::getenv("STOP_IN_CHECKPOINT") != nullptr) stop_training();
  }
  det::Json get_state() const override { return "[1]"; }
  void load_state(const det::Json &) override { say("load_state"); }

 private:
  template <class... Numbers>
  void say(const char *hook, Numbers... numbers) const {
    if (!is_chief_) return;
    std::printf("%s", hook);
    ((std::printf(" %lld", static_cast<long long>(numbers))), ...);
    std::printf("\n");
    std::fflush(stdout);
  }

  // Whether this is the rank that a variable names, or it names none.
  bool is_here(const char *variable) const {
    return number_of(variable) < 0 || number_of(variable) == rank_;
  }

  int64_t rank_;
  bool is_chief_;
  int64_t total_ = 0;
};

class ReversedSequence : public keras::Sequence {
 public:
  explicit ReversedSequence(const Batch &all, int64_t size) : batches_(all, size) {}
  int64_t size() const override { return batches_.size(); }
  Batch at(int64_t index) override { return batches_.at(size() - 1 - index); }

 private:
  keras::ArraySequence batches_;
};

class SmallTrial : public keras::Trial {
 public:
  using Trial::Trial;

  keras::TrialModel build_model() override {
    // In the order of the records a batch of one process is what its ranks have together.
    context().configure_fit(keras::FitOptions().shuffle(std::getenv("IN_ORDER") == nullptr));
    if (std::getenv("CLASS_WEIGHT") != nullptr)
      context().configure_fit(keras::FitOptions().class_weight(keras::ClassWeight{{0, 1}, {1, 0}}));
    if (std::getenv("INPUTS") != nullptr) return of_two_inputs();
    if (std::getenv("LEAVES_OUT") != nullptr) return leaving_out();
    std::vector<Layer> layers = {flatten(), dense(6, tanh_activation), dense(2, softmax)};
    if (std::getenv("NORMALIZED") != nullptr)
      layers.insert(layers.end() - 1, batch_normalization());
    auto model = context().wrap_model(
        describe_sequential(layers, std::getenv("UNBUILT") != nullptr ? Shape{} : Shape{2, 2}));
    if (const char *optimizer = std::getenv("OPTIMIZER"))
      model.compile(std::string(R"({"loss": "sparse_categorical_crossentropy")") +
                    (*optimizer == '\0' ? "" : R"(, "optimizer": )") + optimizer + "}");
    else
      model.compile(
          context().wrap_optimizer(sgd(context().get_hparam<double>("learning_rate"), 0.9)),
          "sparse_categorical_crossentropy", {"accuracy"});
    return model;
  }
  // Of which the second comes first.
  keras::TrialModel of_two_inputs() {
    const Value first = input({2}, "first"), second = input({2}, "second");
    const Value hidden = concatenate()({second, dense(3, tanh_activation)(first)});
    auto model =
        context().wrap_model(describe_functional({second, first}, {dense(2, softmax)(hidden)}));
    model.compile(context().wrap_optimizer(sgd(0.1)), "sparse_categorical_crossentropy");
    return model;
  }
  // By chance, in each of its layers.
  keras::TrialModel leaving_out() {
    const Value x = input({2, 2});
    const Value attended = multi_head_attention(2, 2).dropout(0.3)({x, x});
    const Value hidden = lstm(3).dropout(0.2).recurrent_dropout(0.2)(attended);
    auto model =
        context().wrap_model(describe_functional({x}, {dense(2, softmax)(dropout(0.2)(hidden))}));
    model.compile(context().wrap_optimizer(adam(0.1)), "sparse_categorical_crossentropy");
    return model;
  }
  // The rows of the records, by their names, or as the model takes them.
  static Batch of_rows(const Batch &all) {
    std::vector<float> first, second;
    for (int64_t i = 0; i < all.records(); ++i) {
      const float *record = all.inputs[0].data() + 4 * i;
      first.insert(first.end(), record, record + 2);
      second.insert(second.end(), record + 2, record + 4);
    }
    const Array a(std::move(first), {all.records(), 2}), b(std::move(second), {all.records(), 2});
    const std::string given = std::getenv("INPUTS");
    if (given == "in order") return {{b, a}, all.truths};
    return Batch::of({{"first", a}, {given == "by name" ? "second" : "last", b}, {"unused", b}},
                     all.truths[0]);
  }
  keras::InputData build_training_data_loader() override { return data(records(48), true); }
  keras::InputData build_validation_data_loader() override { return data(records(16), false); }
  std::vector<std::shared_ptr<keras::Callback>> keras_callbacks() override {
    return {std::make_shared<Hooks>(context().distributed().rank()),
            std::make_shared<keras::EarlyStopping>(stopping(), std::getenv("BEST") != nullptr)};
  }

 private:
  static det::EarlyStoppingOptions stopping() {
    det::EarlyStoppingOptions options;
    options.patience = std::getenv("BEST") != nullptr ? 1 : 100;
    if (options.patience == 1) options.min_delta = 1e9;  // the first one is the best
    return options;
  }
  keras::InputData data(Batch all, bool trains) {
    const char *const given = std::getenv("DATA");
    const std::string kind = given != nullptr ? given : "arrays";
    const int64_t size = context().get_per_slot_batch_size();
    if (std::getenv("INPUTS") != nullptr) return of_rows(all);
    if (kind == "arrays") return all;
    if (kind == "sequence") return std::make_shared<ReversedSequence>(all, size);
    if (kind == "workers")
      return keras::SequenceAdapter{std::make_shared<ReversedSequence>(all, size), 3, 4};
    if (kind == "short") return all.rows(0, 3);
    if (kind == "few") return std::make_shared<ReversedSequence>(all.rows(0, size), size);
    auto dataset = Dataset::from_arrays(all);
    if (kind == "empty" || (kind == "empty to validate with" && !trains)) dataset = dataset.take(0);
    if (kind == "one to validate with" && !trains) dataset = dataset.take(1);
    if (kind == "changing")
      return context().wrap_dataset(dataset.batch(size).map(without_a_column()));
    if (kind == "raising") return context().wrap_dataset(dataset.batch(size).map(raise_at(3)));
    if (kind == "records") return context().wrap_dataset(dataset.shuffle(3));
    if (kind == "generated") return context().wrap_dataset(generated(all));
    if (kind == "unwrapped") return dataset.batch(size);
    if (kind == "shuffled" && trains) dataset = dataset.shuffle(20, 5).cache().shuffle(30, 6);
    const auto unchanged = [](Batch batch) { return batch; };
    dataset = dataset.batch(size).map(unchanged, 2).prefetch(3);
    return context().wrap_dataset(dataset);
  }
  // Every batch but the first has one column less.
  static BatchFunction without_a_column() {
    return [count = std::make_shared<int>(0)](Batch batch) {
      if ((*count)++ == 0) return batch;
      const int64_t records = batch.records();
      std::vector<float> numbers(static_cast<size_t>(records) * 2);
      return Batch{{Array(std::move(numbers), {records, 2, 1})}, batch.truths};
    };
  }
  static BatchFunction raise_at(int place) {
    return [place, count = std::make_shared<int>(0)](Batch batch) {
      if (++*count == place) throw std::runtime_error("no such file: digits-3.png");
      return batch;
    };
  }
  // Batches of one record each, as its function means them.
  static Dataset generated(const Batch &all) {
    return Dataset::generator([all] {
      return [all, at = int64_t{0}]() mutable -> std::optional<Batch> {
        if (at == all.records()) return std::nullopt;
        ++at;
        return all.rows(at - 1, at);
      };
    });
  }
  static Batch records(int64_t count) {
    std::vector<float> x(static_cast<size_t>(count) * 4);
    std::vector<int64_t> y(static_cast<size_t>(count));
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(5 * i + 1));
    for (size_t i = 0; i < y.size(); ++i) y[i] = x[4 * i] > x[4 * i + 1] ? 1 : 0;
    return {{Array(std::move(x), {count, 2, 2})}, {Array(std::move(y))}};
  }
};

}  // namespace

int main(int argc, char **argv) {
  det::CoreOptions options;
  options.external_id = "small";
  options.hparams = R"({"global_batch_size": 8, "learning_rate": 0.1})";
  auto config = nlohmann::json::parse(
      R"({"searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 9}},
    "scheduling_unit": 2, "min_validation_period": {"batches": 4}, "min_checkpoint_period": {"batches": 2},
    "records_per_epoch": 24,
    "reproducibility": {"experiment_seed": 7}})");
  if (const char *more = std::getenv("CONFIG")) config.update(nlohmann::json::parse(more));
  options.config = config;
  return det::run_trial<SmallTrial>(argc, argv, options);
}
