#include "wrappers/keras/data/feed.h"

#include <algorithm>
#include <det/detail/ordered_workers.hpp>

#include "core/base/error.h"
#include "core/trial/rules/batch_sampler.h"

namespace det::keras {

namespace {

class CutArrays : public Sequence {
 public:
  CutArrays(TrialBatch all, int64_t batch_size)
      : all_(std::move(all)), batch_size_(batch_size), records_(records_of(all_)) {
    if (records_ < batch_size_)
      refuse("a batch of " + std::to_string(batch_size_) + " records is more than there are (" +
             std::to_string(records_) + "); lower global_batch_size");
  }

  int64_t size() const override { return (records_ + batch_size_ - 1) / batch_size_; }
  TrialBatch at(int64_t index) override {
    const int64_t begin = index * batch_size_;
    const int64_t end = std::min(begin + batch_size_, records_);
    TrialBatch batch;
    batch.inputs = rows(all_.inputs, begin, end);
    batch.truths = rows(all_.truths, begin, end);
    batch.weights = rows(all_.weights, begin, end);
    batch.input_names = all_.input_names;
    batch.weights_of_classes = all_.weights_of_classes;
    return batch;
  }

 private:
  [[noreturn]] static void refuse(const std::string &why) {
    throw Error(Code::invalid, "reading data: " + why);
  }

  static int64_t records_of(const TrialBatch &all) {
    if (all.inputs.empty() || all.truths.empty())
      refuse("there are no inputs, or nothing to compare with");
    const auto count = [](const nn::Array &array) {
      return array.shape().empty() ? 0 : array.shape()[0];
    };
    const int64_t records = count(all.inputs[0]);
    if (records == 0) refuse("the arrays have no records");
    for (const auto *part : {&all.inputs, &all.truths, &all.weights})
      for (const nn::Array &array : *part)
        if (count(array) != records)
          refuse("an array has " + std::to_string(count(array)) + " records, another " +
                 std::to_string(records));
    return records;
  }

  // Views.
  std::vector<nn::Array> rows(const std::vector<nn::Array> &arrays, int64_t begin,
                              int64_t end) const {
    std::vector<nn::Array> taken;
    taken.reserve(arrays.size());
    for (const nn::Array &array : arrays) {
      nn::ArrayType type = array.type();
      type.shape[0] = end - begin;
      taken.emplace_back(
          std::move(type), array,
          array.bytes() / static_cast<size_t>(records_) * static_cast<size_t>(begin));
    }
    return taken;
  }

  const TrialBatch all_;
  const int64_t batch_size_;
  const int64_t records_;
};

// Goes through a sequence as a sampler says, on the caller's thread or ahead on others.
class SequenceFeed {
 public:
  SequenceFeed(std::shared_ptr<Sequence> sequence, const trial::SamplerOptions &order,
               const FitOptions &options)
      : sequence_(std::move(sequence)),
        sampler_(order),
        workers_(static_cast<size_t>(options.workers)),
        queue_(static_cast<size_t>(options.max_queue_size)) {}

  // Nothing at the end of an epoch, of which the sequence is told; another one follows.
  std::optional<TrialBatch> next() {
    std::optional<TrialBatch> batch = workers_ > 0 ? next_of_workers() : next_of_sequence();
    if (!batch) end_epoch();
    return batch;
  }
  void end_epoch() {
    ahead_.reset();
    sequence_->on_epoch_end();
  }

 private:
  std::optional<TrialBatch> next_of_sequence() {
    const std::optional<int64_t> index = sampler_.next();
    if (!index) return std::nullopt;
    return sequence_->at(*index);
  }
  std::optional<TrialBatch> next_of_workers() {
    if (!ahead_)
      ahead_.emplace([this] { return sampler_.next(); },
                     [this](int64_t index) { return sequence_->at(index); }, workers_, queue_);
    return ahead_->next();
  }

  const std::shared_ptr<Sequence> sequence_;
  trial::Sampler sampler_;
  const size_t workers_, queue_;
  // The last: it uses what is above.
  std::optional<detail::OrderedWorkers<int64_t, TrialBatch>> ahead_;
};

std::shared_ptr<SequenceFeed> feed_of(const std::shared_ptr<Sequence> &sequence, const Share &share,
                                      const FitOptions &options, bool shuffle, int64_t skip) {
  const trial::SamplerOptions order{.length = sequence->size(),
                                    .shard = share.rank,
                                    .shards = share.ranks,
                                    .shuffle = shuffle,
                                    .seed = share.seed,
                                    .skip = skip};
  return std::make_shared<SequenceFeed>(sequence, order, options);
}

Feed::Next next_of(std::shared_ptr<Stream::Reading> reading) {
  return [reading = std::move(reading)] { return reading->next(); };
}

}  // namespace

std::shared_ptr<Sequence> cut_into_batches(TrialBatch all, int64_t batch_size) {
  return std::make_shared<CutArrays>(std::move(all), batch_size);
}

TrialBatch Feed::first() const {
  if (data_.sequence != nullptr) return data_.sequence->at(0);
  std::optional<TrialBatch> batch = data_.stream->open(0, 1)->next();
  if (!batch) throw Error(Code::invalid, "reading the data of a trial: the dataset is empty");
  return std::move(*batch);
}

Feed::Next Feed::training(int64_t skip) const {
  if (data_.stream != nullptr) return next_of(data_.stream->open(skip, {}));
  return [feed = feed_of(data_.sequence, share_, options_, options_.shuffle, skip)] {
    std::optional<TrialBatch> batch = feed->next();
    return batch ? std::move(batch) : feed->next();
  };
}

Feed::Next Feed::validation(std::optional<int64_t> most) const {
  if (const auto steps = options_.validation_steps; steps && !(most && *most < *steps))
    most = steps;
  if (data_.stream != nullptr) return next_of(data_.stream->open(0, most));
  return [feed = feed_of(data_.sequence, share_, options_, false, 0),
          left = most.value_or(data_.sequence->size())]() mutable {
    if (left-- > 0) return feed->next();
    feed->end_epoch();
    return std::optional<TrialBatch>();
  };
}

}  // namespace det::keras
