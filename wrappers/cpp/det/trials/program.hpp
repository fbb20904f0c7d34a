// The functions that the library calls while it trains a trial, and their exceptions.
#pragma once

#include <det/keras.h>
#include <det/error.hpp>
#include <det/nlohmann_json.hpp>
#include <det/trial.hpp>

#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace det {
inline namespace v1 {

// Throw it if a trial cannot be trained with its hyperparameters. The search continues without it.
class InvalidHP : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace trials {

// Keeps exceptions of a program's functions. The library sees them as a status and a message.
class Caught {
 public:
  // Returns the status of `body`, or DET_OK if it returns none.
  template <class Body>
  det_status guarded(det_error *err, const Body &body) noexcept {
    try {
      if constexpr (std::is_void_v<decltype(body())>) body();
      else return body();
      return DET_OK;
    } catch (const InvalidHP &refusal) {
      return keep(err, DET_KERAS_INVALID_HP, refusal.what());
    } catch (const Error &error) {
      const det_status status = keep(err, static_cast<det_status>(error.code()), error.what());
      if (err == nullptr) return status;
      err->os_errno = error.os_errno();
      err->http_status = error.http_status();
      err->retryable = error.retryable() ? 1 : 0;
      return status;
    } catch (const std::exception &failure) {
      return keep(err, DET_E_CALLBACK, failure.what());
    } catch (...) {
      return keep(err, DET_E_CALLBACK, "what was thrown is no std::exception");
    }
  }

  // Throws the first exception of any thread, or `error` if there was no exception.
  [[noreturn]] void rethrow(const det_error &error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
    throw Error(error);
  }

 private:
  det_status keep(det_error *err, det_status status, const char *message) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Training ends in order after an InvalidHP. A later failure is a new one.
    const bool was_refusal = std::exchange(is_refusal_, status == DET_KERAS_INVALID_HP);
    if (thrown_ == nullptr || was_refusal) thrown_ = std::current_exception();
    return det_keras_fail(err, status, message);
  }

  std::mutex mutex_;
  std::exception_ptr thrown_;
  bool is_refusal_ = false;
};

// A source of workloads, in place of the search. The program responds to each before the next one.
// With several ranks all respond in step.
class WorkloadSource {
 public:
  virtual ~WorkloadSource() = default;
  // Nothing: there is no more work.
  [[nodiscard]] virtual std::optional<Workload> next() = 0;
  // Takes the response of det_trial_sequencer_respond().
  virtual void respond(const nlohmann::ordered_json &response) = 0;
  // The workload ended with an InvalidHP.
  virtual void refuse() = 0;
};

// Makes the library train a trial to its end. `build` describes the trial, with functions of C that
// take `context`.
inline void train(det_keras_context *context, Caught &caught, const std::function<void()> &build,
                  WorkloadSource *workloads = nullptr) {
  struct Program {
    Caught &caught;
    const std::function<void()> &build;
    WorkloadSource *workloads;
  } program{caught, build, workloads};

  det_keras_workloads given = DET_KERAS_WORKLOADS_INIT;
  given.user_data = &program;
  given.next = [](det_workload *out, void *self, det_error *err) {
    const auto &own = *static_cast<Program *>(self);
    return own.caught.guarded(err, [&] {
      const std::optional<Workload> next = own.workloads->next();
      if (!next) return DET_DONE;
      out->kind = static_cast<det_workload_kind>(next->kind);
      out->step_id = next->step_id;
      out->batches = next->batches;
      out->batches_done = next->batches_done;
      return DET_OK;
    });
  };
  given.respond = [](const char *response, void *self, det_error *err) {
    const auto &own = *static_cast<Program *>(self);
    return own.caught.guarded(err, [&] {
      if (response == nullptr) own.workloads->refuse();
      else own.workloads->respond(Json(response).as<nlohmann::ordered_json>());
    });
  };
  const auto call_build = [](det_keras_context *, void *self, det_error *err) {
    const auto &own = *static_cast<Program *>(self);
    return own.caught.guarded(err, own.build);
  };
  det_error error = DET_ERROR_INIT;
  const det_status status = det_keras_train(context, call_build, &program,
                                            workloads != nullptr ? &given : nullptr, &error);
  if (status < 0) caught.rethrow(error);
}

}  // namespace trials
}  // namespace v1
}  // namespace det
