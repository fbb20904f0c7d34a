// Describes a trial to the library, which then trains it.
#pragma once

#include <det/keras/trial.hpp>
#include <det/trials/run.hpp>

#include <deque>

namespace det {
inline namespace v1 {
namespace keras {
namespace detail {

// Gives the library the arrays of a batch. It owns them from then on.
inline void hand_over(Batch batch, det_nn_batch *out) {
  struct Owned {
    explicit Owned(Batch given) : batch(std::move(given)), lent(batch) {}
    const Batch batch;
    const nn::detail::LentBatch lent;
  };
  auto *const owned = new Owned(std::move(batch));
  *out = owned->lent.capi();
  out->owner = owned;
  out->release = [](void *owner) { delete static_cast<Owned *>(owner); };
}

// The training or validation data of a trial. It must not move.
class Data {
 public:
  // Training goes through a dataset without end. The arguments must outlive it.
  Data(InputData given, bool is_training, trials::Caught &caught)
      : given_(std::move(given)), is_training_(is_training), caught_(caught) {}
  Data(const Data &) = delete;
  Data &operator=(const Data &) = delete;

  using Give = det_status(det_keras_context *, const det_keras_data *, det_error *);
  void give(Give *to, det_keras_context *context) {
    det_keras_data data = DET_KERAS_DATA_INIT;
    data.user_data = this;
    if (given_.dataset() != nullptr) {
      data.open = open;
      data.next = next;
      data.close = close;
    } else if (given_.sequence() != nullptr) {
      data.batch_count = given_.sequence()->size();
      data.batch = batch;
      data.on_epoch_end = on_epoch_end;
    } else {
      const nn::detail::LentBatch arrays(given_.arrays());
      data.arrays = &arrays.capi();
      det::detail::call({}, to, context, &data);
      return;
    }
    det::detail::call({}, to, context, &data);
  }

 private:
  static Data &of(void *self) { return *static_cast<Data *>(self); }

  static det_status batch(int64_t index, det_nn_batch *out, void *self, det_error *err) {
    return of(self).caught_.guarded(err,
                                    [&] { hand_over(of(self).given_.sequence()->at(index), out); });
  }
  static det_status on_epoch_end(void *self, det_error *err) {
    return of(self).caught_.guarded(err, [&] { of(self).given_.sequence()->on_epoch_end(); });
  }

  static det_status open(int64_t skip, int64_t most, void **out, void *self, det_error *err) {
    return of(self).caught_.guarded(err, [&] {
      const nn::Dataset &all = *of(self).given_.dataset();
      const nn::Dataset wanted = most >= 0               ? all.take(most)
                                 : of(self).is_training_ ? all.repeat()
                                                         : all;
      auto reading = std::make_unique<nn::DatasetIterator>(wanted.iterate());
      reading->skip(skip);
      *out = reading.release();
    });
  }
  static det_status next(void *reading, det_nn_batch *out, void *self, det_error *err) {
    return of(self).caught_.guarded(err, [&] {
      std::optional<Batch> batch = static_cast<nn::DatasetIterator *>(reading)->next();
      if (!batch) return DET_DONE;
      hand_over(std::move(*batch), out);
      return DET_OK;
    });
  }
  static void close(void *reading, void * /*self*/) {
    delete static_cast<nn::DatasetIterator *>(reading);
  }

  const InputData given_;
  const bool is_training_;
  trials::Caught &caught_;
};

// A callback of a program. It must not move.
class ToldCallback {
 public:
  // The arguments must outlive it.
  ToldCallback(std::shared_ptr<Callback> callback, const nn::Model &model,
               det_keras_context *context, trials::Caught &caught)
      : callback_(std::move(callback)), caught_(caught) {
    callback_->model_ = &model;
    callback_->context_ = context;
  }
  ToldCallback(const ToldCallback &) = delete;
  ToldCallback &operator=(const ToldCallback &) = delete;

  void add_to(det_keras_context *context) {
    const std::string name = callback_->name();
    det_keras_callback given = DET_KERAS_CALLBACK_INIT;
    given.name = name.c_str();
    given.is_chief_only = callback_->is_for_chief_only() ? 1 : 0;
    given.user_data = this;
    given.on_event = [](det_keras_context *, const det_keras_event *event, void *self,
                        det_error *err) {
      return of(self).caught_.guarded(err, [&] { of(self).tell(*event); });
    };
    given.get_state = [](const char **out, void *self, det_error *err) {
      return of(self).caught_.guarded(err, [&] {
        of(self).state_ = of(self).callback_->get_state();
        *out = of(self).state_.capi();
      });
    };
    given.load_state = [](const char *state, void *self, det_error *err) {
      return of(self).caught_.guarded(err, [&] { of(self).callback_->load_state(state); });
    };
    det::detail::call({}, det_keras_add_callback, context, &given);
  }

 private:
  static ToldCallback &of(void *self) { return *static_cast<ToldCallback *>(self); }

  void tell(const det_keras_event &event) const {
    const auto metrics = [&] {
      Metrics all;
      for (size_t i = 0; i < event.metric_count; ++i)
        all.emplace(event.metrics[i].name, event.metrics[i].value);
      return all;
    };
    switch (event.kind) {
      case DET_KERAS_TRAIN_BEGIN:
        return callback_->on_train_begin();
      case DET_KERAS_TRAIN_END:
        return callback_->on_train_end();
      case DET_KERAS_EPOCH_BEGIN:
        return callback_->on_epoch_begin(event.index);
      case DET_KERAS_EPOCH_END:
        return callback_->on_epoch_end(event.index);
      case DET_KERAS_WORKLOAD_BEGIN:
        return callback_->on_train_workload_begin(event.index, event.batches);
      case DET_KERAS_WORKLOAD_END:
        return callback_->on_train_workload_end(event.index, metrics());
      case DET_KERAS_BATCH_BEGIN:
        return callback_->on_train_batch_begin(event.index);
      case DET_KERAS_BATCH_END:
        return callback_->on_train_batch_end(event.index, metrics());
      case DET_KERAS_TEST_BEGIN:
        return callback_->on_test_begin();
      case DET_KERAS_TEST_BATCH_BEGIN:
        return callback_->on_test_batch_begin(event.index);
      case DET_KERAS_TEST_BATCH_END:
        return callback_->on_test_batch_end(event.index, metrics());
      case DET_KERAS_TEST_END:
        return callback_->on_test_end(metrics());
      case DET_KERAS_CHECKPOINT_END:
        return callback_->on_checkpoint_end(event.directory);
      case DET_KERAS_CHECKPOINT_LOAD:
        return callback_->on_checkpoint_load(event.directory);
      default:
        return;
    }
  }

  const std::shared_ptr<Callback> callback_;
  trials::Caught &caught_;
  Json state_;  // borrowed by the library until its next call
};

}  // namespace detail

// Every rank has one.
class Controller {
 public:
  // The arguments must outlive it.
  Controller(Trial &trial, TrialContext &context, trials::Caught &caught)
      : trial_(trial), context_(context), caught_(caught) {}

  // Call it while the trial is built.
  void describe() {
    take_data(trial_.build_training_data_loader(), true, det_keras_set_training_data);
    take_data(trial_.build_validation_data_loader(), false, det_keras_set_validation_data);
    (void)trial_.build_model();
    const auto &wrapped = context_.wrapped_model();
    if (!wrapped)
      throw std::logic_error("building the model of a trial: give it to context().wrap_model()");
    det::detail::call({}, det_keras_use_model, context_.capi(), wrapped->model().capi());
    for (const auto &one : trial_.keras_callbacks()) add(one, wrapped->model());
  }

 private:
  void take_data(InputData given, bool is_training, detail::Data::Give *to) {
    // The settings of an adapter of the training data go to the context.
    if (const auto &adapter = given.adapter(); adapter && is_training)
      context_.configure_fit(
          FitOptions().workers(adapter->workers).max_queue_size(adapter->max_queue_size));
    if (given.dataset() != nullptr) context_.check_dataset(*given.dataset());
    data_.emplace_back(std::move(given), is_training, caught_).give(to, context_.capi());
  }

  void add(const std::shared_ptr<Callback> &one, const nn::Model &model) {
    if (one == nullptr) throw std::invalid_argument("a trial's keras_callbacks() has a null one");
    if (const auto *known = dynamic_cast<const KnownCallback *>(one.get()))
      det::detail::call({}, det_keras_add_known_callback, context_.capi(),
                        known->described().json().c_str());
    else callbacks_.emplace_back(one, model, context_.capi(), caught_).add_to(context_.capi());
  }

  Trial &trial_;
  TrialContext &context_;
  trials::Caught &caught_;
  std::deque<detail::Data> data_;
  std::deque<detail::ToldCallback> callbacks_;
};

}  // namespace keras
}  // namespace v1
}  // namespace det
