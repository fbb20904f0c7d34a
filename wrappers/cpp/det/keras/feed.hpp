// The batches of a rank, in their order.
#pragma once

#include <det/keras/trial.hpp>
#include <det/nn/dataset/workers.hpp>

namespace det {
inline namespace v1 {
namespace keras {
namespace detail {

// Goes through a sequence as a sampler says, on the caller's thread or ahead on others.
class SequenceFeed {
 public:
  SequenceFeed(std::shared_ptr<Sequence> sequence, Sampler sampler, const FitOptions &options)
      : sequence_(std::move(sequence)),
        sampler_(std::move(sampler)),
        workers_(static_cast<size_t>(options.workers())),
        queue_(static_cast<size_t>(options.max_queue_size())) {}

  // Nothing at the end of an epoch, of which the sequence is told; another one follows.
  [[nodiscard]] std::optional<Batch> next() {
    std::optional<Batch> batch = workers_ > 0 ? next_of_workers() : next_of_sequence();
    if (!batch) end_epoch();
    return batch;
  }
  void end_epoch() {
    ahead_.reset();
    sequence_->on_epoch_end();
  }

 private:
  std::optional<Batch> next_of_sequence() {
    const std::optional<int64_t> index = sampler_.next();
    if (!index) return std::nullopt;
    return sequence_->at(*index);
  }
  std::optional<Batch> next_of_workers() {
    if (!ahead_)
      ahead_.emplace([this] { return sampler_.next(); },
                     [this](int64_t index) { return sequence_->at(index); }, workers_, queue_);
    return ahead_->next();
  }

  std::shared_ptr<Sequence> sequence_;
  Sampler sampler_;
  size_t workers_, queue_;
  std::optional<nn::detail::OrderedWorkers<int64_t>> ahead_;  // the last: it uses what is above
};

[[nodiscard]] inline std::shared_ptr<SequenceFeed> feed_of(
    const TrialContext &context, const std::shared_ptr<Sequence> &sequence, bool shuffle,
    int64_t skip) {
  SamplerOptions options;
  options.length = sequence->size();
  options.shard = context.distributed().rank();
  options.shards = context.distributed().size();
  options.shuffle = shuffle;
  options.skip = skip;
  options.seed = static_cast<uint32_t>(context.get_trial_seed());
  return std::make_shared<SequenceFeed>(sequence, Sampler::create(options), context.fit());
}

}  // namespace detail

// What a trial is trained and validated with, on this rank.
class Feed {
 public:
  Feed(const TrialContext &context, const InputData &data) : context_(context) {
    if (const nn::Dataset *dataset = data.dataset()) {
      context.check_dataset(*dataset);
      dataset_ = *dataset;
    } else {
      sequence_ = data.sequence(context.get_per_slot_batch_size());
    }
  }

  // To give weights to a model that does not say what comes in.
  [[nodiscard]] Batch first() const {
    if (sequence_ != nullptr) return sequence_->at(0);
    std::optional<Batch> batch = dataset_->iterate().next();
    if (!batch) throw std::invalid_argument("reading the data of a trial: the dataset is empty");
    return std::move(*batch);
  }

  // Without end, from behind the batches that this rank has had.
  [[nodiscard]] nn::Generator training(int64_t skip) const {
    const bool shuffle = context_.fit().shuffle();
    if (dataset_) {
      auto iterator = std::make_shared<nn::DatasetIterator>(dataset_->repeat().iterate());
      iterator->skip(skip);
      return [iterator] { return iterator->next(); };
    }
    return [feed = detail::feed_of(context_, sequence_, shuffle, skip)] {
      std::optional<Batch> batch = feed->next();
      return batch ? std::move(batch) : feed->next();
    };
  }
  // All of them once, or as many as the trial wants, and `most`.
  [[nodiscard]] nn::Generator validation(std::optional<int64_t> most) const {
    if (const auto steps = context_.fit().validation_steps(); steps && !(most && *most < *steps))
      most = steps;
    if (dataset_) {
      const nn::Dataset part = most ? dataset_->take(*most) : *dataset_;
      auto iterator = std::make_shared<nn::DatasetIterator>(part.iterate());
      return [iterator] { return iterator->next(); };
    }
    return [feed = detail::feed_of(context_, sequence_, false, 0),
            left = most.value_or(sequence_->size())]() mutable {
      if (left-- > 0) return feed->next();
      feed->end_epoch();
      return std::optional<Batch>();
    };
  }

 private:
  const TrialContext &context_;
  std::shared_ptr<Sequence> sequence_;
  std::optional<nn::Dataset> dataset_;
};

}  // namespace keras
}  // namespace v1
}  // namespace det
