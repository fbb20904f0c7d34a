// Pipelines of batches through det/nn/dataset.hpp.
#include <det/nn/dataset.hpp>

#include "tests/cmocka.h"

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

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(arrays_are_cut_into_records),
      cmocka_unit_test(batches_are_views_or_copies),
      cmocka_unit_test(what_is_repeated_begins_anew),
      cmocka_unit_test(an_empty_dataset_has_no_end_to_repeat_to),
      cmocka_unit_test(an_iterator_goes_past_elements),
      cmocka_unit_test(what_cannot_be_batched_says_why),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
