#include "wrappers/keras/capi/trial_program.h"

#include <cstring>
#include <limits>

#include "capi/guard.h"
#include "wrappers/nn/capi/batch_argument.h"

namespace det::keras {

namespace {

// Throws what a function of the program answered.
[[noreturn]] void throw_answer(const char *name, det_status status, const det_error &error) {
  const bool says_more = error.message[0] != '\0';
  if (status == DET_KERAS_INVALID_HP)
    throw InvalidHparams(says_more ? error.message : "the trial says no more");
  if (!says_more)
    throw Error(Code::callback, std::string("running a trial: its ") + name + " answered " +
                                    std::to_string(status));
  throw Error(code_of_program(status), error.message, error.os_errno, error.http_status)
      .with_retry(error.retryable != 0);
}

// Calls a function of the program, with a det_error behind `arguments`. `name` says in errors which
// one it is. False: it answered DET_DONE.
template <class Function, class... Arguments>
bool ask_program(const char *name, Function *function, Arguments... arguments) {
  det_error error = DET_ERROR_INIT;
  const det_status status = function(arguments..., &error);
  if (status != DET_OK && status != DET_DONE) throw_answer(name, status, error);
  return status == DET_OK;
}

// The same of a function that must answer DET_OK.
template <class Function, class... Arguments>
void call_program(const char *name, Function *function, Arguments... arguments) {
  if (!ask_program(name, function, arguments...))
    throw_answer(name, DET_DONE, det_error DET_ERROR_INIT);
}

// What there can be no array of is refused before it is read.
void check_sizes(const nn::Shape &shape) {
  int64_t left = std::numeric_limits<int64_t>::max() / 8;  // bytes of the widest numbers
  for (const int64_t size : shape) {
    if (size < 0 || size > left)
      throw Error(Code::invalid, "making an array: its shape has a size of " +
                                     std::to_string(size) + ", which there cannot be");
    if (size > 1) left /= size;
  }
}

enum class Kept { by_the_program, as_a_copy };

// What a program gives, whose arrays stay where they are, or are copied unless it hands them over.
TrialBatch batch_of(const det_nn_batch &given, Kept kept) {
  const det_nn_batch read = read_batch(&given);
  std::shared_ptr<void> owner;
  if (read.release != nullptr) owner = std::shared_ptr<void>(read.owner, read.release);
  TrialBatch batch;
  borrow_batch(read, batch);
  for (auto *part : {&batch.inputs, &batch.truths, &batch.weights})
    for (nn::Array &array : *part) {
      check_sizes(array.shape());
      if (owner != nullptr) {
        array = nn::Array(array.type(), {owner, static_cast<std::byte *>(array.raw())});
      } else if (kept == Kept::as_a_copy) {
        nn::Array copy(array.type());
        if (copy.bytes() > 0) std::memcpy(copy.raw(), array.raw(), copy.bytes());
        array = std::move(copy);
      }
    }
  if (read.input_names != nullptr)
    for (size_t i = 0; i < read.input_count; ++i)
      batch.input_names.emplace_back(text(read.input_names[i], "a name of 'input_names'"));
  batch.weights_of_classes.assign(read.class_weights, read.class_weights + read.class_count);
  return batch;
}

class ProgramSequence : public Sequence {
 public:
  explicit ProgramSequence(const det_keras_data &data) : data_(data) {}

  int64_t size() const override { return data_.batch_count; }
  TrialBatch at(int64_t index) override {
    det_nn_batch given = DET_NN_BATCH_INIT;
    call_program("batch()", data_.batch, index, &given, data_.user_data);
    return batch_of(given, Kept::as_a_copy);
  }
  void on_epoch_end() override {
    if (data_.on_epoch_end != nullptr)
      call_program("on_epoch_end()", data_.on_epoch_end, data_.user_data);
  }

 private:
  const det_keras_data data_;
};

class ProgramStream : public Stream {
 public:
  explicit ProgramStream(const det_keras_data &data) : data_(data) {}

  std::unique_ptr<Stream::Reading> open(int64_t skip, std::optional<int64_t> most) override {
    void *reading = nullptr;
    call_program("open()", data_.open, skip, most.value_or(-1), &reading, data_.user_data);
    return std::make_unique<Reading>(data_, reading);
  }

 private:
  class Reading : public Stream::Reading {
   public:
    Reading(const det_keras_data &data, void *reading) : data_(data), reading_(reading) {}
    ~Reading() override { data_.close(reading_, data_.user_data); }
    Reading(const Reading &) = delete;
    Reading &operator=(const Reading &) = delete;

    std::optional<TrialBatch> next() override {
      det_nn_batch given = DET_NN_BATCH_INIT;
      if (!ask_program("next()", data_.next, reading_, &given, data_.user_data))
        return std::nullopt;
      return batch_of(given, Kept::as_a_copy);
    }

   private:
    const det_keras_data data_;
    void *const reading_;
  };

  const det_keras_data data_;
};

class ProgramCallback : public Callback {
 public:
  ProgramCallback(const det_keras_callback &given, det_keras_context &context)
      : functions_(given), name_(text_or_empty(given.name)), context_(context) {}

  void on(const Event &event) override {
    if (functions_.on_event == nullptr) return;
    metrics_.clear();
    if (event.metrics != nullptr)
      for (const auto &[name, value] : *event.metrics) metrics_.push_back({name.c_str(), value});
    const det_keras_event told{sizeof told,
                               event.kind,
                               0,
                               event.index,
                               event.batches,
                               event.metrics != nullptr ? metrics_.data() : nullptr,
                               metrics_.size(),
                               event.directory != nullptr ? event.directory->c_str() : nullptr};
    call_program("on_event()", functions_.on_event, &context_, &told, functions_.user_data);
  }
  std::optional<std::string> state() const override {
    const char *state = nullptr;
    if (functions_.get_state != nullptr)
      call_program("get_state()", functions_.get_state, &state, functions_.user_data);
    if (state == nullptr || *state == '\0') return std::nullopt;
    return state;
  }
  void load_state(const std::string &state) override {
    if (functions_.load_state != nullptr)
      call_program("load_state()", functions_.load_state, state.c_str(), functions_.user_data);
  }
  std::string name() const override { return name_.empty() ? "Callback" : name_; }
  bool is_for_chief_only() const override { return functions_.is_chief_only != 0; }

 private:
  const det_keras_callback functions_;
  const std::string name_;
  det_keras_context &context_;
  std::vector<det_metric> metrics_;  // of the last event: its room is used again
};

class ProgramWorkloads : public WorkloadSource {
 public:
  explicit ProgramWorkloads(const det_keras_workloads &given) : functions_(given) {}

  std::optional<Workload> next() override {
    det_workload next = DET_WORKLOAD_INIT;
    if (!ask_program("next()", functions_.next, &next, functions_.user_data)) return std::nullopt;
    return Workload{static_cast<Workload::Kind>(next.kind), next.step_id, next.batches,
                    next.batches_done};
  }
  void respond(const Json &response) override { respond(text_with_bare_numbers(response).c_str()); }
  void refuse(const InvalidHparams & /*refusal*/) override { respond(nullptr); }

 private:
  void respond(const char *response) {
    call_program("respond()", functions_.respond, response, functions_.user_data);
  }

  const det_keras_workloads functions_;
};

// A program that trains in its own way.
class ProgramLoop : public Loop {
 public:
  ProgramLoop(det_keras_context &context, const det_keras_loop &given)
      : context_(context),
        functions_(given),
        names_{given.format, {given.model_file, given.weights_file, given.training_state_file}} {}

  const Names &names() const override { return names_; }
  det_nn_model &begin(const Checkpoint &checkpoint) override {
    det_nn_model *model = nullptr;
    call_program("begin()", functions_.begin, &context_, checkpoint ? checkpoint->c_str() : nullptr,
                 &model, functions_.user_data);
    return deref(model, "the model of a trial's begin()");
  }
  void start(RanksInStep &ranks, const Checkpoint & /*checkpoint*/) override {
    ranks_.emplace(ranks);
  }
  Trained train(int64_t batches) override {
    const char *answer = nullptr;
    call_program("train()", functions_.train, &context_, &*ranks_, batches, &answer,
                 functions_.user_data);
    Json trained = parse_json_object(text(answer, "what train() gives"), "what train() gives");
    return {std::move(trained["batch_metrics"]),
            context_.trial.averaged_of_training(trained["avg_metrics"])};
  }
  Validated validate(std::optional<int64_t> most) override {
    const char *answer = nullptr;
    call_program("validate()", functions_.validate, &context_, &*ranks_, most.value_or(-1), &answer,
                 functions_.user_data);
    const Json validated =
        parse_json_object(text(answer, "what validate() gives"), "what validate() gives");
    const auto batches = validated.value("batches", int64_t{0});
    check_validation(context_.trial, batches);
    return {batches, context_.trial.averaged(validated.at("validation_metrics"))};
  }
  void save(const std::filesystem::path &directory) override {
    call_program("save()", functions_.save, &context_, directory.c_str(), functions_.user_data);
  }
  void end(bool has_failed) override {
    call_program("end()", functions_.end, &context_, has_failed ? 1 : 0, functions_.user_data);
  }

 private:
  det_keras_context &context_;
  const det_keras_loop functions_;
  const Names names_;
  std::optional<det_keras_ranks> ranks_;
};

TrialData read_data(const det_keras_data *given, int64_t batch_size) {
  const auto data =
      read_options<det_keras_data>(&deref(given, "data"), DET_KERAS_DATA_INIT, "data");
  const auto refuse = [](const char *problem) {
    throw Error(Code::invalid, std::string("giving a trial its data: ") + problem);
  };
  const bool is_sequence =
      data.batch != nullptr || data.on_epoch_end != nullptr || data.batch_count != 0;
  const bool is_stream = data.open != nullptr || data.next != nullptr || data.close != nullptr;
  if ((data.arrays != nullptr ? 1 : 0) + (is_sequence ? 1 : 0) + (is_stream ? 1 : 0) > 1)
    refuse("they are arrays or a sequence, not both; or a stream alone");
  if (data.arrays != nullptr)
    return {cut_into_batches(batch_of(*data.arrays, Kept::by_the_program), batch_size), nullptr};
  if (is_stream) {
    if (data.open == nullptr || data.next == nullptr || data.close == nullptr)
      refuse("a stream has open(), next() and close()");
    return {nullptr, std::make_shared<ProgramStream>(data)};
  }
  if (data.batch == nullptr) refuse("there are no arrays, and no batch() of a sequence");
  if (data.batch_count < 1) refuse("a sequence has one batch or more (batch_count)");
  return {std::make_shared<ProgramSequence>(data), nullptr};
}

bool is_said(const TrialData &data) { return data.sequence != nullptr || data.stream != nullptr; }

}  // namespace

Code code_of_program(det_status status) {
  const Code code = code_from(status);
  return static_cast<det_status>(code) == status ? code : Code::callback;
}

std::shared_ptr<Callback> program_callback(const det_keras_callback *given,
                                           det_keras_context &context) {
  const auto read = read_options<det_keras_callback>(&deref(given, "callback"),
                                                     DET_KERAS_CALLBACK_INIT, "callback");
  return std::make_shared<ProgramCallback>(read, context);
}

std::unique_ptr<Loop> program_loop(const det_keras_loop *given, det_keras_context &context) {
  const auto read =
      read_options<det_keras_loop>(&deref(given, "loop"), DET_KERAS_LOOP_INIT, "loop");
  for (const char *name :
       {read.format, read.model_file, read.weights_file, read.training_state_file})
    text(name, "a name of 'loop'");
  if (read.begin == nullptr || read.train == nullptr || read.validate == nullptr ||
      read.save == nullptr || read.end == nullptr)
    throw Error(Code::invalid, "saying how a trial trains: a function of its loop is NULL");
  return std::make_unique<ProgramLoop>(context, read);
}

std::unique_ptr<WorkloadSource> program_workloads(const det_keras_workloads *given) {
  const auto read = read_options<det_keras_workloads>(given, DET_KERAS_WORKLOADS_INIT, "workloads");
  deref(read.next, "workloads.next");
  deref(read.respond, "workloads.respond");
  return std::make_unique<ProgramWorkloads>(read);
}

std::unique_ptr<Loop> build_trial(det_keras_context &context, det_keras_build build,
                                  void *user_data) {
  call_program("build()", build, &context, user_data);
  context.is_built = true;
  if (context.loop != nullptr) return std::move(context.loop);
  const auto check = [](bool is_there, const char *what, const char *function) {
    if (!is_there)
      throw Error(Code::state,
                  std::string("building a trial: nothing said ") + what + "; call " + function);
  };
  check(context.said.model != nullptr, "its model", "det_keras_set_model()");
  check(is_said(context.said.training), "what it is trained with", "det_keras_set_training_data()");
  check(is_said(context.said.validation), "what it is validated with",
        "det_keras_set_validation_data()");
  return std::make_unique<KerasLoop>(context.trial, context.said, context.fit);
}

}  // namespace det::keras

void det_keras_context::check_building(const char *tried) const {
  if (is_built)
    throw det::Error(det::Code::state,
                     std::string(tried) + ": that is said while the trial is built, not later");
}

void det_keras_context::check_model() const {
  constexpr const char *tried = "saying the model of a trial";
  check_building(tried);
  if (said.model != nullptr)
    throw det::Error(det::Code::state, std::string(tried) + ": it is said already");
}

void det_keras_context::take(const char *tried, det::keras::TrialData &place,
                             const det_keras_data *data) const {
  check_building(tried);
  if (det::keras::is_said(place))
    throw det::Error(det::Code::state, std::string(tried) + ": they are given already");
  place = det::keras::read_data(data, trial.sizes().per_slot);
}
