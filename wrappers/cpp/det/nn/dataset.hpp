// Datasets: pipelines of batches, as tf.data has them.
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

// One pass over a dataset, which it keeps. For one thread at a time.
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

  // Nothing at the end. What a function of the dataset throws is thrown here as it is, from then
  // on by every call.
  [[nodiscard]] std::optional<Batch> next() {
    return guarded([&] { return elements_->next(); });
  }
  // Goes past elements. What only changes them (map(), batch()) is not done; what orders them is.
  void skip(int64_t count) {
    if (count < 0) throw std::invalid_argument("skipping elements: fewer than none");
    guarded([&] { (void)elements_->skip(count); });
  }

 private:
  detail::ElementsPtr elements_;
  std::exception_ptr failure_;
};

// A value that says how elements come about; each member gives another one and leaves its own as it
// is. Cheap to copy; copies may be used by several threads. An element is a Batch: a single record
// until batch() puts several side by side. Elements share their numbers with what they come from,
// and are not to be written to.
//
// Functions of the user are kept as long as a copy of the dataset or an iterator is. What is wrong
// with arguments is thrown as std::invalid_argument at once, and what is wrong with elements by the
// iterator.
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
  // All of it is one element.
  [[nodiscard]] static Dataset from_tensors(Batch arrays) {
    const int64_t records = arrays.records();
    return from_arrays(std::move(arrays)).batch(std::max<int64_t>(records, 1));
  }
  // `begin` is called for every pass, by several threads where there are several iterators; the
  // generator that it gives is called by one at a time.
  [[nodiscard]] static Dataset generator(std::function<Generator()> begin) {
    if (!begin) throw std::invalid_argument("generating a dataset: there is no function");
    return Dataset([begin = std::move(begin)](uint64_t) {
      return std::make_unique<detail::GeneratedElements>(begin());
    });
  }
  // Of single records, which batch() is to put side by side. `begin` is given the number of the
  // pass, and the same one is to give the same records.
  [[nodiscard]] static Dataset generator_of_records(std::function<Generator(uint64_t pass)> begin) {
    if (!begin) throw std::invalid_argument("generating a dataset: there is no function");
    return Dataset(
        [begin = std::move(begin)](uint64_t pass) {
          return std::make_unique<detail::GeneratedElements>(begin(pass));
        },
        Elements::records);
  }

  // `size` elements side by side; the last ones are fewer, or left out.
  [[nodiscard]] Dataset batch(int64_t size, bool drop_remainder = false) const {
    if (size < 1) refuse("batching a dataset: a batch has at least one element", size);
    return then(
        [=](detail::ElementsPtr input) {
          return std::make_unique<detail::BatchedElements>(std::move(input), size, drop_remainder);
        },
        Elements::any);
  }
  // Without end where it is not said how often; that needs an element.
  [[nodiscard]] Dataset repeat(std::optional<int64_t> times = {}) const {
    if (times && *times < 0) refuse("repeating a dataset: it is repeated 0 times or more", *times);
    return Dataset(
        [open = open_, times](uint64_t pass) {
          return std::make_unique<detail::RepeatedElements>(*open, times, pass);
        },
        are_);
  }

  // Each of the next `buffer` elements is as likely to come next. With every pass in another order,
  // or always in the same.
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
  // Every `count`th element, the first of them being number `index`.
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
  // The elements of what `function` makes of each element: `block_length` of each of
  // `cycle_length` such datasets in turn, and then of those that follow (source:
  // tf.data.Dataset.interleave).
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
  // What `function` makes of each element, in their order. It is called by who asks, or by so many
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
  // In memory, from the end of the first pass on, for all copies of what is given: elements are
  // made once, and come always in the order of that pass.
  [[nodiscard]] Dataset cache() const {
    return Dataset([open = open_, cache = std::make_shared<detail::Cache>()](
                       uint64_t) { return std::make_unique<detail::CachedElements>(cache, *open); },
                   are_);
  }

  // The same `pass` gives the same elements, as far as functions of the user do.
  [[nodiscard]] DatasetIterator iterate(uint64_t pass = 0) const {
    return DatasetIterator((*open_)(pass));
  }

  // Whether it was made of single records, and nothing but a function of map() has put some side by
  // side since.
  [[nodiscard]] bool is_of_records() const noexcept { return are_ == Elements::records; }

 private:
  enum class Elements { any, records };

  explicit Dataset(detail::Open open, Elements are = Elements::any)
      : open_(std::make_shared<const detail::Open>(std::move(open))), are_(are) {}

  [[noreturn]] static void refuse(const std::string &why, int64_t given) {
    throw std::invalid_argument(why + ", not " + std::to_string(given));
  }

  // A dataset that makes its elements of those of this one.
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
