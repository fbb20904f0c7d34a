#include "wrappers/keras/program_trial.h"

#include "wrappers/keras/batches.h"
#include "wrappers/keras/failures.h"

namespace {

// Batches that a program gives by their number.
class ProgramSequence : public keras::Sequence {
 public:
  explicit ProgramSequence(const det_keras_data &data) : data_(data) {}

  [[nodiscard]] int64_t size() const override { return data_.batch_count; }
  [[nodiscard]] keras::Batch at(int64_t index) override {
    det_nn_batch given = DET_NN_BATCH_INIT;
    call_program("batch()", data_.batch, index, &given, data_.user_data);
    return copied_batch(&given);
  }
  void on_epoch_end() override {
    if (data_.on_epoch_end != nullptr)
      call_program("on_epoch_end()", data_.on_epoch_end, data_.user_data);
  }

 private:
  const det_keras_data data_;
};

keras::InputData data_of(const det_keras_data *given) {
  const auto data =
      read_options<det_keras_data>(&deref(given, "data"), DET_KERAS_DATA_INIT, "data");
  const auto refuse = [](const char *problem) {
    throw CoreError(CoreCode::invalid, std::string("giving a trial its data: ") + problem);
  };
  const bool is_sequence =
      data.batch != nullptr || data.on_epoch_end != nullptr || data.batch_count != 0;
  if (data.arrays != nullptr && is_sequence) refuse("they are arrays or a sequence, not both");
  if (data.arrays != nullptr) return lent_batch(data.arrays);
  if (data.batch == nullptr) refuse("there are no arrays, and no batch() of a sequence");
  if (data.batch_count < 1) refuse("a sequence has one batch or more (batch_count)");
  return std::make_shared<ProgramSequence>(data);
}

}  // namespace

void det_keras_context::check_building(const char *tried) const {
  if (is_built)
    throw CoreError(CoreCode::state,
                    std::string(tried) + ": that is said while the trial is built, not later");
}

void det_keras_context::take(const char *tried, std::optional<keras::InputData> &place,
                             const det_keras_data *data) {
  check_building(tried);
  if (place) throw CoreError(CoreCode::state, std::string(tried) + ": they are given already");
  place.emplace(data_of(data));
}

void det_keras_context::set_model(const char *json, const char *compiled) {
  constexpr const char *tried = "saying the model of a trial";
  check_building(tried);
  if (described) throw CoreError(CoreCode::state, std::string(tried) + ": it is said already");
  keras::TrialModel made = trial.wrap_model(text(json, "json"));
  // What is no object is refused in the words of the core.
  made.compile(det::parse_json_object(text(compiled, "compiled"), "compiled"));
  described = made;
}

det_nn_model *det_keras_context::model() const {
  return described ? described->model().capi() : nullptr;
}

ProgramTrial::ProgramTrial(keras::TrialContext &context, const Program &program)
    : Trial(context), said_(context) {
  call_program("build()", program.build, &said_, program.user_data);
  said_.is_built = true;
  const auto check = [](bool is_said, const char *what, const char *function) {
    if (!is_said)
      throw CoreError(CoreCode::state,
                      std::string("building a trial: nothing said ") + what + "; call " + function);
  };
  check(said_.described.has_value(), "its model", "det_keras_set_model()");
  check(said_.training.has_value(), "what it is trained with", "det_keras_set_training_data()");
  check(said_.validation.has_value(), "what it is validated with",
        "det_keras_set_validation_data()");
}
