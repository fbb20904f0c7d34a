// Datasets: pipelines of batches, as in tf.data.
#pragma once

#include <det/nn/dataset/batching.hpp>
#include <det/nn/dataset/choosing.hpp>
#include <det/nn/dataset/interleaving.hpp>
#include <det/nn/dataset/mapping.hpp>
#include <det/nn/dataset/repeating.hpp>
#include <det/nn/dataset/shuffling.hpp>

#include <exception>

namespace det {
inline namespace v1 {
namespace nn {

// One pass over a dataset, which it keeps. Use it on one thread at a time.
class DatasetIterator {
  template <class Action>
  auto guarded(const Action &action) {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    try {
      return action();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }

 public:
  explicit DatasetIterator(detail::ElementsPtr elements) : elements_(std::move(elements)) {}

  // Returns nothing at the end. If a function of the dataset throws, this call and all later ones
  // throw its exception.
  [[nodiscard]] std::optional<Batch> next() {
    return guarded([&] { return elements_->next(); });
  }
  // Passes over elements. Functions that only change them (map(), batch()) do not run. Functions
  // that order them do.
  void skip(int64_t count) {
    if (count < 0) throw std::invalid_argument("skipping elements: fewer than none");
    guarded([&] { (void)elements_->skip(count); });
  }

 private:
  detail::ElementsPtr elements_;
  std::exception_ptr failure_;
};

// A value that describes a pipeline of elements. Each member returns a new dataset, and does not
// change its own. Copies are cheap, and several threads may use them. An element is a Batch: a
// single record until batch() puts several side by side. Elements share their numbers with their
// source. Do not write to them.
//
// Your functions are kept as long as a copy of the dataset or an iterator. Invalid arguments throw
// std::invalid_argument at once. For invalid elements the iterator throws it.
class Dataset {
 public:
  // Each record is an element.
  [[nodiscard]] static Dataset from_arrays(Batch arrays) {
    detail::check_records(arrays, "making a dataset of arrays");
    auto all = std::make_shared<const Batch>(std::move(arrays));
    return Dataset([all](uint64_t) { return std::make_unique<detail::ArrayElements>(all); },
                   Elements::records);
  }
  [[nodiscard]] static Dataset from_arrays(Array x, Array y) {
    return from_arrays(Batch{{std::move(x)}, {std::move(y)}});
  }
  // All arrays together are one element.
  [[nodiscard]] static Dataset from_tensors(Batch arrays) {
    const int64_t records = arrays.records();
    return from_arrays(std::move(arrays)).batch(std::max<int64_t>(records, 1));
  }
  // `begin` is called for every pass. With several iterators, several threads call it. Its
  // generator is called by one thread at a time.
  [[nodiscard]] static Dataset generator(std::function<Generator()> begin) {
    if (!begin) throw std::invalid_argument("generating a dataset: there is no function");
    return Dataset([begin = std::move(begin)](uint64_t) {
      return std::make_unique<detail::GeneratedElements>(begin());
    });
  }
  // Single records, which batch() puts side by side. `begin` gets the number of the pass. The same
  // number must give the same records.
  [[nodiscard]] static Dataset generator_of_records(std::function<Generator(uint64_t pass)> begin) {
    if (!begin) throw std::invalid_argument("generating a dataset: there is no function");
    return Dataset(
        [begin = std::move(begin)](uint64_t pass) {
          return std::make_unique<detail::GeneratedElements>(begin(pass));
        },
        Elements::records);
  }

  // Puts `size` elements side by side. The last batch has fewer, or is left out.
  [[nodiscard]] Dataset batch(int64_t size, bool drop_remainder = false) const {
    if (size < 1) refuse("batching a dataset: a batch has at least one element", size);
    return then(
        [=](detail::ElementsPtr input) {
          return std::make_unique<detail::BatchedElements>(std::move(input), size, drop_remainder);
        },
        Elements::any);
  }
  // Repeats without end if `times` is missing. Then it needs an element.
  [[nodiscard]] Dataset repeat(std::optional<int64_t> times = {}) const {
    if (times && *times < 0) refuse("repeating a dataset: it is repeated 0 times or more", *times);
    return Dataset(
        [open = open_, times](uint64_t pass) {
          return std::make_unique<detail::RepeatedElements>(*open, times, pass);
        },
        are_);
  }

  // Gives one of the next `buffer` elements at random. The order differs in every pass, or is
  // always the same.
  [[nodiscard]] Dataset shuffle(int64_t buffer, uint64_t seed = 0,
                                bool reshuffle_each_iteration = true) const {
    if (buffer < 1) refuse("shuffling a dataset: it looks at one element or more", buffer);
    return Dataset(
        [=, open = open_](uint64_t pass) {
          return std::make_unique<detail::ShuffledElements>((*open)(pass),
                                                            static_cast<size_t>(buffer), seed,
                                                            reshuffle_each_iteration ? pass : 0);
        },
        are_);
  }
  // Every `count`th element, from number `index`.
  [[nodiscard]] Dataset shard(int64_t count, int64_t index) const {
    if (count < 1) refuse("sharding a dataset: there is one shard or more", count);
    if (index < 0 || index >= count)
      refuse(
          ("sharding a dataset: shards are counted from 0 to " + std::to_string(count - 1)).c_str(),
          index);
    return then([=](detail::ElementsPtr input) {
      return std::make_unique<detail::ShardedElements>(std::move(input), count, index);
    });
  }
  [[nodiscard]] Dataset take(int64_t count) const {
    if (count < 0) refuse("taking elements of a dataset: there are 0 or more", count);
    return then([=](detail::ElementsPtr input) {
      return std::make_unique<detail::TakenElements>(std::move(input), count);
    });
  }
  [[nodiscard]] Dataset skip(int64_t count) const {
    if (count < 0) refuse("skipping elements of a dataset: there are 0 or more", count);
    return then([=](detail::ElementsPtr input) {
      return std::make_unique<detail::LaterElements>(std::move(input), count);
    });
  }
  // The elements of this one, then those of the other.
  [[nodiscard]] Dataset concatenate(const Dataset &other) const {
    return Dataset(
        [first = open_, second = other.open_](uint64_t pass) {
          return std::make_unique<detail::ConcatenatedElements>((*first)(pass), (*second)(pass));
        },
        are_ == other.are_ ? are_ : Elements::any);
  }
  // The elements of the datasets that `function` makes of each element. It takes `block_length`
  // elements of each of `cycle_length` datasets in turn, and then of the following ones. Follows
  // tf.data.Dataset.interleave().
  [[nodiscard]] Dataset interleave(std::function<Dataset(const Batch &)> function,
                                   int64_t cycle_length, int64_t block_length = 1) const {
    if (!function) throw std::invalid_argument("interleaving a dataset: there is no function");
    if (cycle_length < 1) refuse("interleaving a dataset: one or more take turns", cycle_length);
    if (block_length < 1)
      refuse("interleaving a dataset: each gives one element or more in its turn", block_length);
    return Dataset([=, open = open_,
                    function = std::make_shared<const decltype(function)>(std::move(function))](
                       uint64_t pass) {
      return std::make_unique<detail::InterleavedElements>(
          (*open)(pass), [=](const Batch &element) { return (*(*function)(element).open_)(pass); },
          static_cast<size_t>(cycle_length), block_length);
    });
  }
  // Changes each element with `function`, in the same order. The consumer calls it, or `workers`
  // threads at once.
  [[nodiscard]] Dataset map(BatchFunction function, int64_t workers = 0) const {
    if (!function) throw std::invalid_argument("mapping a dataset: there is no function");
    if (workers < 0) refuse("mapping a dataset: there are 0 workers or more", workers);
    return then([=, function = std::make_shared<const BatchFunction>(std::move(function))](
                    detail::ElementsPtr input) {
      return std::make_unique<detail::MappedElements>(std::move(input), function,
                                                      static_cast<size_t>(workers));
    });
  }
  // A thread makes up to `count` elements ahead.
  [[nodiscard]] Dataset prefetch(int64_t count) const {
    if (count < 1) refuse("prefetching a dataset: one element or more is made ahead", count);
    return then([=](detail::ElementsPtr input) {
      return std::make_unique<detail::PrefetchedElements>(std::move(input),
                                                          static_cast<size_t>(count));
    });
  }
  // Keeps elements in memory after the end of the first pass, for all copies of the result.
  // Elements are made once. They always have the order of that pass.
  [[nodiscard]] Dataset cache() const {
    return Dataset([open = open_, cache = std::make_shared<detail::Cache>()](
                       uint64_t) { return std::make_unique<detail::CachedElements>(cache, *open); },
                   are_);
  }

  // The same `pass` gives the same elements, if your functions do so.
  [[nodiscard]] DatasetIterator iterate(uint64_t pass = 0) const {
    return DatasetIterator((*open_)(pass));
  }

  // True for a dataset of single records, if only a function of map() may have put some side by
  // side.
  [[nodiscard]] bool is_of_records() const noexcept { return are_ == Elements::records; }

 private:
  enum class Elements { any, records };

  explicit Dataset(detail::Open open, Elements are = Elements::any)
      : open_(std::make_shared<const detail::Open>(std::move(open))), are_(are) {}

  [[noreturn]] static void refuse(const std::string &why, int64_t given) {
    throw std::invalid_argument(why + ", not " + std::to_string(given));
  }

  // A dataset that makes its elements from those of this one.
  template <class Make>
  [[nodiscard]] Dataset then(Make make) const {
    return then(std::move(make), are_);
  }
  template <class Make>
  [[nodiscard]] Dataset then(Make make, Elements are) const {
    return Dataset([open = open_, make = std::move(make)](
                       uint64_t pass) -> detail::ElementsPtr { return make((*open)(pass)); },
                   are);
  }

  std::shared_ptr<const detail::Open> open_;
  Elements are_;
};

}  // namespace nn
}  // namespace v1
}  // namespace det
