// The work that the search asks for: for (det::Operation op : core.searcher().operations()).
#pragma once

#include <det/searcher.h>
#include <det/error.hpp>
#include <det/json.hpp>

#include <cstddef>
#include <iterator>
#include <optional>

namespace det {
inline namespace v1 {

enum class SearcherMode : det_searcher_mode {
  workers_ask_chief = DET_SEARCHER_MODE_WORKERS_ASK_CHIEF,
  chief_only = DET_SEARCHER_MODE_CHIEF_ONLY,
};

enum class LengthUnit : det_length_unit {
  none = DET_LENGTH_UNIT_NONE,
  epochs = DET_LENGTH_UNIT_EPOCHS,
  records = DET_LENGTH_UNIT_RECORDS,
  batches = DET_LENGTH_UNIT_BATCHES,
};

// Train up to a length, validate, report. A view borrowed from the core.
class Operation {
 public:
  explicit Operation(det_searcher_op *operation) noexcept : operation_(operation) {}

  // Counts from the beginning of the trial.
  [[nodiscard]] int64_t length() const noexcept { return det_searcher_op_length(operation_); }

  void report_progress(double length, OnFailure on = {}) const {
    detail::call(on, det_searcher_op_report_progress, operation_, length);
  }
  void report_completed(double metric, OnFailure on = {}) const {
    detail::call(on, det_searcher_op_report_completed, operation_, metric);
  }
  void report_completed_json(const Json &metric, OnFailure on = {}) const {
    detail::call(on, det_searcher_op_report_completed_json, operation_, metric.capi());
  }

  [[nodiscard]] det_searcher_op *capi() const noexcept { return operation_; }

 private:
  det_searcher_op *operation_;
};

template <class On>
class BasicOperations;
using Operations = BasicOperations<OnFailure>;

// A view borrowed from the core.
class Searcher {
 public:
  explicit Searcher(det_searcher_context *searcher) noexcept : searcher_(searcher) {}

  // The operations until there is no more work, one by one. With a Failure the loop ends when a
  // call fails.
  [[nodiscard]] Operations operations(OnFailure on = {}) const noexcept;

  // The next operation, or nothing if there is no more work.
  [[nodiscard]] std::optional<Operation> next(OnFailure on = {}) const {
    det_searcher_op *operation = nullptr;
    detail::call(on, det_searcher_next, searcher_, &operation);
    return operation != nullptr ? std::optional(Operation(operation)) : std::nullopt;
  }

  // Call it before the first operation.
  void configure(SearcherMode mode, bool auto_ack = true, OnFailure on = {}) const {
    detail::call(on, det_searcher_configure, searcher_, static_cast<det_searcher_mode>(mode),
                 auto_ack ? 1 : 0);
  }
  void acknowledge_out_of_ops(OnFailure on = {}) const {
    detail::call(on, det_searcher_acknowledge_out_of_ops, searcher_);
  }
  [[nodiscard]] LengthUnit configured_units() const noexcept {
    return static_cast<LengthUnit>(det_searcher_configured_units(searcher_));
  }

  [[nodiscard]] det_searcher_context *capi() const noexcept { return searcher_; }

 private:
  det_searcher_context *searcher_;
};

// A range for one loop. It is a template, because code without exceptions has another OnFailure.
template <class On>
class BasicOperations {
 public:
  struct End {};

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Operation;
    using difference_type = std::ptrdiff_t;
    using pointer = const Operation *;
    using reference = Operation;

    Iterator(Searcher searcher, On on) : searcher_(searcher), on_(on) { ++*this; }

    Operation operator*() const { return *operation_; }
    const Operation *operator->() const { return &*operation_; }
    Iterator &operator++() {
      operation_ = searcher_.next(on_);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator &it, End) noexcept { return !it.operation_; }
    friend bool operator!=(const Iterator &it, End) noexcept { return it.operation_.has_value(); }

   private:
    Searcher searcher_;
    On on_;
    std::optional<Operation> operation_;
  };

  BasicOperations(Searcher searcher, On on) noexcept : searcher_(searcher), on_(on) {}

  [[nodiscard]] Iterator begin() const { return {searcher_, on_}; }
  [[nodiscard]] End end() const noexcept { return {}; }

 private:
  Searcher searcher_;
  On on_;
};

inline Operations Searcher::operations(OnFailure on) const noexcept { return {*this, on}; }

}  // namespace v1
}  // namespace det
