// The batches of a rank, in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "wrappers/keras/data/fit_options.h"
#include "wrappers/keras/data/trial_batch.h"

namespace det::keras {

// Batches that can be asked for by their number.
class Sequence {
 public:
  virtual ~Sequence() = default;
  // Batches of an epoch. With workers at() is called by several threads at once, all others never
  // beside it.
  virtual int64_t size() const = 0;
  virtual TrialBatch at(int64_t index) = 0;
  virtual void on_epoch_end() {}
};

// Arrays as a sequence. Records keep their places in batches; the last batch may be shorter. Throws
// Code::invalid for arrays of different lengths, and for fewer records than a batch.
std::shared_ptr<Sequence> cut_into_batches(TrialBatch all, int64_t batch_size);

// Batches that come one after the other.
class Stream {
 public:
  class Reading {
   public:
    virtual ~Reading() = default;
    virtual std::optional<TrialBatch> next() = 0;
  };

  virtual ~Stream() = default;
  // Behind `skip` batches; `most` of them, or without one all.
  virtual std::unique_ptr<Reading> open(int64_t skip, std::optional<int64_t> most) = 0;
};

// What a program gives: one of the two.
struct TrialData {
  std::shared_ptr<Sequence> sequence;
  std::shared_ptr<Stream> stream;
};

// Which part of the data is a rank's, and in which order.
struct Share {
  int64_t rank = 0;
  int64_t ranks = 1;
  uint32_t seed = 0;
};

// What a trial is trained or validated with, on this rank.
class Feed {
 public:
  using Next = std::function<std::optional<TrialBatch>()>;

  // The options outlive it.
  Feed(TrialData data, const Share &share, const FitOptions &options)
      : data_(std::move(data)), share_(share), options_(options) {}

  // To give weights to a model that does not say what comes in.
  TrialBatch first() const;
  // Without end, from behind the batches that this rank has had.
  Next training(int64_t skip) const;
  // All of them once, or as many as the trial wants, and `most`.
  Next validation(std::optional<int64_t> most) const;

 private:
  const TrialData data_;
  const Share share_;
  const FitOptions &options_;
};

}  // namespace det::keras
