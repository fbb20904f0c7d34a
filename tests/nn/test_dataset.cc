// Pipelines of batches through det/nn/dataset.hpp.
#include <atomic>
#include <cmath>
#include <det/keras/fit_options.hpp>
#include <det/nn/dataset.hpp>
#include <det/trials/dataset_cache.hpp>
#include <future>

#include "tests/cmocka.h"
#include "tests/temporary_directory.h"

#undef skip  // cmocka has a macro of this name

namespace {

using namespace det::nn;

// Records with the numbers from `begin` on, and their negatives as labels.
Batch numbered(int64_t begin, int64_t end) {
  std::vector<float> x;
  std::vector<int32_t> y;
  for (int64_t i = begin; i < end; ++i) {
    x.insert(x.end(), {static_cast<float>(i), 0.5F});
    y.push_back(static_cast<int32_t>(-i));
  }
  return {{Array(std::move(x), {end - begin, 2})}, {Array(std::move(y))}};
}
Dataset numbers(int64_t count) { return Dataset::from_arrays(numbered(0, count)); }

// Records of `count` elements that come one after the other.
Dataset generated(int64_t count) {
  return Dataset::generator([count] {
    return [count, i = int64_t{0}]() mutable -> std::optional<Batch> {
      if (i == count) return std::nullopt;
      ++i;
      return numbered(i - 1, i);
    };
  });
}

// "0 1 2|3 4" for a batch of three and one of two.
std::string text_of(DatasetIterator iterator, int most = 100) {
  std::string text;
  for (int i = 0; i < most; ++i) {
    const std::optional<Batch> batch = iterator.next();
    if (!batch) break;
    if (i > 0) text += "|";
    for (int64_t record = 0; record < batch->records(); ++record) {
      const int label = batch->truths.at(0).data<int32_t>()[record];
      assert_true(batch->inputs[0].data()[2 * record] == static_cast<float>(-label));
      assert_true(batch->inputs[0].data()[2 * record + 1] == 0.5F);
      text += (record > 0 ? " " : "") + std::to_string(-label);
    }
  }
  return text;
}
std::string text_of(const Dataset &dataset, int most = 100) {
  return text_of(dataset.iterate(), most);
}

template <class Action>
std::string refusal(const Action &action) {
  try {
    action();
  } catch (const std::invalid_argument &why) {
    return why.what();
  }
  return "not refused";
}

void arrays_are_cut_into_records(void **) {
  assert_string_equal(text_of(numbers(3)).c_str(), "0|1|2");
  assert_string_equal(text_of(Dataset::from_tensors(numbered(0, 3))).c_str(), "0 1 2");
  const Batch named =
      Batch::of({{"b", Array(std::vector<float>{1, 2})}, {"a", Array(std::vector<float>{3, 4})}},
                Array(std::vector<int32_t>{0, 1}));
  DatasetIterator iterator = Dataset::from_arrays(named).iterate();
  (void)iterator.next();
  const std::optional<Batch> second = iterator.next();
  assert_true(second->feature("a").data()[0] == 4 && second->feature("b").data()[0] == 2);
  assert_true(second->features().size() == 2 && second->truths[0].data<int32_t>()[0] == 1);
  assert_false(iterator.next().has_value());
}

void batches_are_views_or_copies(void **) {
  for (const Dataset &dataset : {numbers(5), generated(5)}) {
    assert_string_equal(text_of(dataset.batch(2)).c_str(), "0 1|2 3|4");
    assert_string_equal(text_of(dataset.batch(2, true)).c_str(), "0 1|2 3");
    assert_string_equal(text_of(dataset.batch(7)).c_str(), "0 1 2 3 4");
    assert_string_equal(text_of(dataset.batch(7, true)).c_str(), "");
    assert_string_equal(text_of(dataset.batch(2).batch(2)).c_str(), "0 1 2 3|4");
  }
  const Batch all = numbered(0, 4);
  const auto first = Dataset::from_arrays(all).batch(2).iterate().next();
  assert_ptr_equal(first->inputs[0].data(), all.inputs[0].data());
}

void what_is_repeated_begins_anew(void **) {
  for (const Dataset &dataset : {numbers(3), generated(3)}) {
    assert_string_equal(text_of(dataset.batch(2).repeat(2)).c_str(), "0 1|2|0 1|2");
    assert_string_equal(text_of(dataset.repeat(2).batch(2)).c_str(), "0 1|2 0|1 2");
    assert_string_equal(text_of(dataset.repeat(), 7).c_str(), "0|1|2|0|1|2|0");
    assert_string_equal(text_of(dataset.repeat(0)).c_str(), "");
  }
}

void an_empty_dataset_has_no_end_to_repeat_to(void **) {
  assert_string_equal(text_of(generated(0).repeat(5)).c_str(), "");
  DatasetIterator iterator = generated(0).repeat().batch(3).iterate();
  for (int i = 0; i < 2; ++i)
    assert_string_equal(refusal([&] { (void)iterator.next(); }).c_str(),
                        "repeating a dataset: there are no elements in it");
}

void an_iterator_goes_past_elements(void **) {
  for (const Dataset &dataset : {numbers(10), generated(10)}) {
    DatasetIterator iterator = dataset.batch(3).repeat().iterate();
    iterator.skip(6);
    assert_string_equal(text_of(std::move(iterator), 3).c_str(), "6 7 8|9|0 1 2");
    DatasetIterator beyond = dataset.batch(3).iterate();
    beyond.skip(INT64_MAX);
    assert_false(beyond.next().has_value());
  }
}

void what_cannot_be_batched_says_why(void **) {
  const Array three(std::vector<float>{1, 2, 3}), two(std::vector<int32_t>{1, 2});
  assert_string_equal(refusal([&] { (void)Dataset::from_arrays(three, two); }).c_str(),
                      "making a dataset of arrays: the label 0 has 2 records, the input 0 3");
  assert_string_equal(refusal([] { (void)Dataset::from_arrays(Batch{}); }).c_str(),
                      "making a dataset of arrays: there are no inputs");
  assert_string_equal(
      refusal([] { (void)Dataset::from_arrays(Batch{{Array(std::vector<float>{})}}); }).c_str(),
      "making a dataset of arrays: there are no records");
  assert_string_equal(refusal([] { (void)numbers(1).batch(0); }).c_str(),
                      "batching a dataset: a batch has at least one element, not 0");
  assert_string_equal(refusal([] { (void)numbers(1).repeat(-1); }).c_str(),
                      "repeating a dataset: it is repeated 0 times or more, not -1");
  const Dataset changing = Dataset::generator([] {
    return [size = int64_t{4}]() mutable -> std::optional<Batch> {
      if (--size == 0) return std::nullopt;
      const int64_t width = size == 1 ? 5 : 2;
      return Batch::of({{"x", Array(std::vector<float>(static_cast<size_t>(width)), {1, width})}});
    };
  });
  DatasetIterator iterator = changing.batch(4).iterate();
  assert_string_equal(refusal([&] { (void)iterator.next(); }).c_str(),
                      "batching a dataset, element 2: the input 'x' is F32 (5) a record, before "
                      "it was F32 (2)");
}

void some_elements_are_chosen(void **) {
  for (const Dataset &dataset : {numbers(7), generated(7)}) {
    assert_string_equal(text_of(dataset.shard(3, 0)).c_str(), "0|3|6");
    assert_string_equal(text_of(dataset.shard(3, 2)).c_str(), "2|5");
    assert_string_equal(text_of(dataset.batch(2).shard(2, 1)).c_str(), "2 3|6");
    assert_string_equal(text_of(dataset.take(3).batch(2)).c_str(), "0 1|2");
    assert_string_equal(text_of(dataset.skip(4).batch(2)).c_str(), "4 5|6");
    assert_string_equal(text_of(dataset.skip(9)).c_str(), "");
    assert_string_equal(text_of(dataset.take(2).concatenate(dataset.skip(6))).c_str(), "0|1|6");
  }
  assert_string_equal(refusal([] { (void)numbers(1).shard(2, 2); }).c_str(),
                      "sharding a dataset: shards are counted from 0 to 1, not 2");
  assert_string_equal(refusal([] { (void)numbers(1).shuffle(0); }).c_str(),
                      "shuffling a dataset: it looks at one element or more, not 0");
}

// 0, 10 and 11, 20 to 22 and so on, in the orders in which TensorFlow has them.
void datasets_take_turns(void **) {
  const auto interleaved = [](int64_t count, int64_t cycle_length, int64_t block_length) {
    const auto several = [](const Batch &element) {
      const int64_t number = -element.truths[0].data<int32_t>()[0];
      return Dataset::from_arrays(numbered(10 * number, 11 * number + 1));
    };
    return text_of(numbers(5).take(count).interleave(several, cycle_length, block_length));
  };
  assert_string_equal(interleaved(5, 2, 4).c_str(), "0|10|11|20|21|22|30|31|32|33|40|41|42|43|44");
  assert_string_equal(interleaved(5, 2, 1).c_str(), "0|10|11|20|21|30|22|31|32|40|33|41|42|43|44");
  assert_string_equal(interleaved(4, 3, 2).c_str(), "0|10|11|20|21|30|31|22|32|33");
  assert_string_equal(interleaved(3, 8, 2).c_str(), "0|10|11|20|21|22");
  assert_string_equal(interleaved(0, 1, 1).c_str(), "");
  assert_string_equal(refusal([&] { (void)interleaved(3, 0, 1); }).c_str(),
                      "interleaving a dataset: one or more take turns, not 0");
  assert_string_equal(refusal([&] { (void)interleaved(3, 1, 0); }).c_str(),
                      "interleaving a dataset: each gives one element or more in its turn, not 0");
}

void a_shuffle_follows_from_its_seed_and_the_pass(void **) {
  const Dataset shuffled = numbers(40).shuffle(40, 3);
  const std::string first = text_of(shuffled.iterate(0));
  assert_string_equal(first.c_str(), text_of(shuffled.iterate(0)).c_str());
  assert_string_not_equal(first.c_str(), text_of(shuffled.iterate(1)).c_str());
  assert_string_not_equal(first.c_str(), text_of(numbers(40).shuffle(40, 4)).c_str());
  assert_string_equal(text_of(shuffled.repeat(2), 40).c_str(), first.c_str());
  DatasetIterator later = shuffled.repeat().iterate();
  later.skip(40);
  assert_string_equal(text_of(std::move(later), 40).c_str(), text_of(shuffled.iterate(1)).c_str());
  const Dataset same = numbers(40).shuffle(40, 3, false);
  assert_string_equal(text_of(same.iterate(1)).c_str(), first.c_str());
  assert_string_equal(text_of(numbers(5).shuffle(1)).c_str(), "0|1|2|3|4");
  // With room for three an element comes at most two places too early.
  DatasetIterator near = numbers(40).shuffle(3).iterate();
  std::vector<bool> seen(40);
  for (int i = 0; i < 40; ++i) {
    const int number = -near.next()->truths[0].data<int32_t>()[0];
    assert_true(number <= i + 2 && !seen[static_cast<size_t>(number)]);
    seen[static_cast<size_t>(number)] = true;
  }
  assert_false(near.next().has_value());
}

void a_cache_asks_once(void **) {
  auto begun = std::make_shared<std::atomic<int>>(0);
  const Dataset cached = Dataset::generator([begun] {
                           ++*begun;
                           return [i = int64_t{0}]() mutable -> std::optional<Batch> {
                             if (i == 4) return std::nullopt;
                             ++i;
                             return numbered(i - 1, i);
                           };
                         }).cache();
  assert_string_equal(text_of(cached, 2).c_str(), "0|1");
  for (int i = 0; i < 2; ++i) assert_string_equal(text_of(cached).c_str(), "0|1|2|3");
  DatasetIterator iterator = cached.iterate();
  iterator.skip(3);
  assert_string_equal(text_of(std::move(iterator)).c_str(), "3");
  assert_int_equal(begun->load(), 2);
}

// Adds 100 to each record.
Batch hundred_more(const Batch &batch) {
  const auto number = -batch.truths[0].data<int32_t>()[0];
  return numbered(number + 100, number + 101);
}

void workers_keep_the_order(void **) {
  for (const int64_t workers : {0, 1, 4})
    assert_string_equal(text_of(generated(9).map(hundred_more, workers).batch(4)).c_str(),
                        "100 101 102 103|104 105 106 107|108");
  assert_string_equal(text_of(generated(6).prefetch(2).batch(4).prefetch(1)).c_str(),
                      "0 1 2 3|4 5");
  // The first element is only done once the second one has begun.
  std::promise<void> begun;
  const Dataset both = numbers(2).map(
      [&](Batch batch) {
        if (batch.truths[0].data<int32_t>()[0] == 0) begun.get_future().wait();
        else begun.set_value();
        return batch;
      },
      2);
  assert_string_equal(text_of(both).c_str(), "0|1");
}

void what_a_function_throws_is_thrown(void **) {
  struct Own {
    int number;
  };
  const auto fails_at_5 = [](Batch batch) {
    if (batch.truths[0].data<int32_t>()[0] == -5) throw Own{5};
    return batch;
  };
  const Dataset failing_generator = Dataset::generator([] {
    return [i = int64_t{0}]() mutable -> std::optional<Batch> {
      if (i == 5) throw Own{5};
      ++i;
      return numbered(i - 1, i);
    };
  });
  for (const Dataset &dataset :
       {generated(9).map(fails_at_5), generated(9).map(fails_at_5, 3),
        generated(9).map(fails_at_5, 3).prefetch(2), failing_generator,
        failing_generator.prefetch(3), failing_generator.map(hundred_more, 2)}) {
    DatasetIterator iterator = dataset.iterate();
    for (int i = 0; i < 5; ++i) assert_true(iterator.next().has_value());
    for (int i = 0; i < 2; ++i) {
      int thrown = 0;
      try {
        (void)iterator.next();
      } catch (const Own &own) {
        thrown = own.number;
      }
      assert_int_equal(thrown, 5);
    }
  }
  DatasetIterator uneven = numbers(3)
                               .map([](const Batch &batch) {
                                 return Batch{batch.inputs, {Array(std::vector<int>{1, 2})}};
                               })
                               .iterate();
  assert_string_equal(refusal([&] { (void)uneven.next(); }).c_str(),
                      "mapping a dataset, element 0: the label 0 has 2 records, the input 0 1");
}

void an_iterator_may_leave_in_the_middle(void **) {
  auto used = std::make_shared<int>(0);
  {
    const Dataset endless = Dataset::generator([used] {
                              return [used, i = int64_t{0}]() mutable -> std::optional<Batch> {
                                ++i;
                                return numbered(i - 1, i);
                              };
                            })
                                .map(hundred_more, 3)
                                .shuffle(5)
                                .prefetch(4);
    DatasetIterator iterator = endless.iterate();
    for (int i = 0; i < 10; ++i) assert_true(iterator.next().has_value());
    (void)endless.iterate().next();
  }
  assert_int_equal(used.use_count(), 1);
}

void going_past_elements_does_not_make_them(void **) {
  std::atomic<int> made{0};
  const auto counted = [&](Batch batch) {
    ++made;
    return batch;
  };
  const Dataset dataset = numbers(10).shuffle(4, 9).map(counted, 2).batch(3).repeat().prefetch(2);
  DatasetIterator whole = dataset.iterate();
  for (int i = 0; i < 6; ++i) (void)whole.next();
  const std::string expected = text_of(std::move(whole), 5);
  made = 0;
  DatasetIterator later = dataset.iterate();
  later.skip(6);
  assert_int_equal(made.load(), 0);
  assert_string_equal(text_of(std::move(later), 5).c_str(), expected.c_str());
  for (const int64_t shard : {0, 1, 2})
    for (const int64_t count : {0, 1, 4, 5, 11}) {
      DatasetIterator past = numbers(10).shard(3, shard).repeat().iterate();
      DatasetIterator asked = numbers(10).shard(3, shard).repeat().iterate();
      past.skip(count);
      for (int64_t i = 0; i < count; ++i) (void)asked.next();
      assert_string_equal(text_of(std::move(past), 5).c_str(),
                          text_of(std::move(asked), 5).c_str());
    }
}

void classes_are_numbered_from_0_on(void **) {
  const Batch batch = {{Array(std::vector<float>{1})}, {Array(std::vector<int64_t>{1})}};
  Batch weighted = batch;
  weighted.class_weights = {0.5, 4};
  assert_true(weighted.rows(0, 1).class_weights == (std::vector<double>{0.5, 4}));
  assert_string_equal(det::keras::detail::list_of({{0, 0.5}, {1, 4}}).c_str(), "[0.5, 4]");
  assert_string_equal(refusal([] {
                        (void)det::keras::detail::list_of({{0, 1}, {2, 1}});
                      }).c_str(),
                      "weighting classes: they are numbered from 0 on, and there is no 1");
}

void records_are_told_from_batches(void **) {
  const Dataset records = numbers(4);
  const auto unchanged = [](Batch batch) { return batch; };
  for (const Dataset &one : {records, records.shuffle(2), records.repeat(2), records.take(1),
                             records.map(unchanged), records.shard(2, 0).skip(1),
                             records.prefetch(1), records.cache(), records.concatenate(records)})
    assert_true(one.is_of_records());
  const Dataset batches = records.batch(2);
  const auto generate = [] { return [] { return std::optional<Batch>(); }; };
  for (const Dataset &one : {batches, batches.shuffle(2).repeat(), Dataset::generator(generate),
                             records.concatenate(batches), Dataset::from_tensors(numbered(0, 3))})
    assert_false(one.is_of_records());
}

void a_cached_dataset_has_the_order_of_the_pass(void **) {
  const det::TemporaryDirectory directory;
  det::DatasetReaderOptions options;
  options.shuffle = true;
  const Dataset cached = det::trials::epochs_of(
      det::trials::cached_dataset(directory.path(), "id", "1", [] { return numbers(20); }),
      options);
  const auto pass = [&](uint64_t number) { return text_of(cached.iterate(number), 20); };
  const std::string first = pass(0), second = pass(1);
  assert_string_not_equal(first.c_str(), second.c_str());
  assert_string_equal(pass(0).c_str(), first.c_str());
  const std::string both = text_of(cached.repeat(2).iterate(), 40);
  assert_int_equal(both.rfind(first, 0), 0);
  const std::string again = text_of(cached.repeat(1).repeat(2).iterate(), 40);
  assert_string_equal(again.c_str(), both.c_str());
}

void a_cached_dataset_of_another_program_is_refused(void **) {
  const det::TemporaryDirectory directory;
  for (const char *metadata : {"no JSON", R"({"names": 5})"}) {
    const det::OpenedDataset opened = det::open_dataset(directory.path().string(), "id", metadata);
    opened.writer.add("record");
    opened.writer.commit(metadata);
    const std::string said = refusal([&] {
      (void)det::trials::epochs_of(
          det::trials::cached_dataset(directory.path(), "id", metadata, [] { return numbers(1); }),
          {});
    });
    assert_string_equal(said.c_str(),
                        "reading a cached dataset: it was written by something else than a trial "
                        "in C++, such as one in Python; give this one another id or version");
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(records_are_told_from_batches),
      cmocka_unit_test(a_cached_dataset_has_the_order_of_the_pass),
      cmocka_unit_test(a_cached_dataset_of_another_program_is_refused),
      cmocka_unit_test(arrays_are_cut_into_records),
      cmocka_unit_test(batches_are_views_or_copies),
      cmocka_unit_test(what_is_repeated_begins_anew),
      cmocka_unit_test(an_empty_dataset_has_no_end_to_repeat_to),
      cmocka_unit_test(an_iterator_goes_past_elements),
      cmocka_unit_test(what_cannot_be_batched_says_why),
      cmocka_unit_test(some_elements_are_chosen),
      cmocka_unit_test(datasets_take_turns),
      cmocka_unit_test(a_shuffle_follows_from_its_seed_and_the_pass),
      cmocka_unit_test(a_cache_asks_once),
      cmocka_unit_test(workers_keep_the_order),
      cmocka_unit_test(what_a_function_throws_is_thrown),
      cmocka_unit_test(an_iterator_may_leave_in_the_middle),
      cmocka_unit_test(going_past_elements_does_not_make_them),
      cmocka_unit_test(classes_are_numbered_from_0_on),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
