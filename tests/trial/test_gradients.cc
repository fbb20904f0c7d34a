// Gradients of several ranks, added up in every way that there is.
#include "core/trial/gradients/gradients.h"

#include <cmath>
#include <cstring>

#include "core/base/half_blocks.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"

namespace det::test {
namespace {

using trial::Dtype;
using trial::GradientAggregator;
using trial::GradientOptions;
using trial::GradientTensor;
using Floats = std::vector<float>;

const std::vector<GradientTensor> three = {
    {7, Dtype::f32}, {0, Dtype::f32}, {5000, Dtype::f32}, {33, Dtype::f32}};

// The gradient of a tensor on a rank in a batch: sums of its elements depend on their order.
Floats gradient(size_t tensor, size_t count, int rank, int batch) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = std::sin(static_cast<float>(1 + i + 100 * tensor) * 0.7F +
                         static_cast<float>(rank * 31 + batch * 7)) /
                static_cast<float>(1 + (i + static_cast<size_t>(rank)) % 5);
  return values;
}

// Computes gradients where they are added up, all of a batch one after the other.
std::vector<Floats> train_in_place(comm::Communicator &communicator,
                                   const std::vector<GradientTensor> &tensors,
                                   const GradientOptions &options, int batches) {
  GradientAggregator gradients(communicator, tensors, options);
  const std::span<char> memory = gradients.memory();
  require(!memory.empty(), "there is a place for gradients");
  require(std::ranges::count(memory, '\0') == std::ssize(memory), "of zeros");
  std::vector<Floats> results;
  for (int batch = 0; batch < batches; ++batch) {
    char *begin = memory.data();
    std::vector<std::span<float>> places;
    for (const GradientTensor &tensor : tensors) {
      places.emplace_back(reinterpret_cast<float *>(begin), tensor.count);
      begin += (tensor.count * sizeof(float) + 63) / 64 * 64;
    }
    require(begin == memory.data() + memory.size(), "as much as they take");
    for (size_t i = tensors.size(); i-- > 0;) {
      std::ranges::copy(gradient(i, tensors[i].count, communicator.ranks().rank, batch),
                        places[i].begin());
      gradients.add(i, places[i].data(), places[i].data());
    }
    require(gradients.step(), "each batch is applied");
    require(gradients.memory().data() == memory.data(), "the place stays where it is");
    for (const std::span<float> &place : places) results.emplace_back(place.begin(), place.end());
  }
  return results;
}

// What every rank gets in `periods` periods of all tensors, one after the other.
std::vector<Floats> train(comm::Communicator &communicator,
                          const std::vector<GradientTensor> &tensors,
                          const GradientOptions &options, int periods) {
  GradientAggregator gradients(communicator, tensors, options);
  std::vector<Floats> results;
  for (int batch = 0; batch < periods * options.frequency; ++batch) {
    std::vector<Floats> values;
    for (size_t i = 0; i < tensors.size(); ++i)
      values.push_back(gradient(i, tensors[i].count, communicator.ranks().rank, batch));
    // Not in the order in which the groups are.
    for (size_t i = 0; i < tensors.size(); ++i) {
      const size_t index = (i + static_cast<size_t>(communicator.ranks().rank)) % tensors.size();
      gradients.add(index, values[index].data(), values[index].data());
    }
    const bool is_last = batch % options.frequency == options.frequency - 1;
    require(gradients.step() == is_last, "only the last batch of a period is applied");
    if (is_last) std::move(values.begin(), values.end(), std::back_inserter(results));
  }
  return results;
}

void check_close(const std::vector<Floats> &results, const std::vector<GradientTensor> &tensors,
                 const GradientOptions &options, int ranks, double tolerance) {
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t tensor = i % tensors.size();
    const int period = static_cast<int>(i / tensors.size());
    std::vector<double> expected(tensors[tensor].count);
    for (int rank = 0; rank < ranks; ++rank)
      for (int batch = 0; batch < options.frequency; ++batch) {
        const Floats values =
            gradient(tensor, expected.size(), rank, period * options.frequency + batch);
        for (size_t at = 0; at < values.size(); ++at)
          expected[at] += static_cast<double>(values[at]);
      }
    require(results[i].size() == expected.size(), "as many elements");
    for (size_t at = 0; at < expected.size(); ++at) {
      const double right = expected[at] / ranks / (options.average ? options.frequency : 1);
      if (std::fabs(static_cast<double>(results[i][at]) - right) > tolerance)
        throw std::logic_error("tensor " + std::to_string(tensor) + " at " + std::to_string(at) +
                               ": " + std::to_string(results[i][at]) + ", not " +
                               std::to_string(right));
    }
  }
}

void check_job(int nodes, int per_node, const GradientOptions &options, const JobOptions &job,
               double tolerance) {
  std::vector<std::vector<Floats>> all(static_cast<size_t>(nodes * per_node));
  const Outcome outcome = run_ranks(
      nodes, per_node,
      [&](comm::Communicator &communicator) {
        const auto rank = static_cast<size_t>(communicator.ranks().rank);
        all[rank] = train(communicator, three, options, 3);
        check_close(all[rank], three, options, communicator.ranks().size, tolerance);
      },
      job);
  assert_string_equal(outcome.all().c_str(), "");
  for (const std::vector<Floats> &results : all) assert_true(results == all.front());
}

// Ranks on one machine with and without shared memory, and on several.
void every_rank_gets_the_mean(void **) {
  for (const int frequency : {1, 3}) {
    for (const bool average : {true, false}) {
      GradientOptions options;
      options.frequency = frequency;
      options.average = average;
      options.last_first = average;
      options.fusion_threshold = average ? 16384 : 100;
      check_job(1, 1, options, {}, 1e-6);
      check_job(1, 2, options, {}, 1e-6);
      check_job(1, 4, options, {}, 1e-6);
      check_job(2, 2, options, {}, 1e-6);
      check_job(1, 2, options, {.force_tcp = true}, 1e-6);
    }
  }
}

void half_precision_between_ranks_is_close_and_the_same(void **) {
  for (const int frequency : {1, 3}) {
    GradientOptions options;
    options.frequency = frequency;
    options.compress = true;
    check_job(1, 3, options, {}, 1e-3);
    check_job(2, 2, options, {}, 1e-3);
  }
  // Alone there is nothing between ranks.
  GradientOptions options;
  options.compress = true;
  check_job(1, 1, options, {}, 0);
}

// The sum of what half precision can hold is beyond it; the mean is not.
void large_gradients_stay_finite_in_half_precision(void **) {
  const Outcome outcome = run_ranks(1, 2, [](comm::Communicator &communicator) {
    GradientOptions options;
    options.compress = true;
    GradientAggregator gradients(communicator, {{1, Dtype::f32}}, options);
    float value = 60000;
    gradients.add(0, &value, &value);
    require(gradients.step() && value == 60000, "the mean is " + std::to_string(value));
  });
  assert_string_equal(outcome.all().c_str(), "");
}

void all_dtypes_are_added_up(void **) {
  const Outcome outcome = run_ranks(1, 2, [](comm::Communicator &communicator) {
    GradientOptions options;
    options.frequency = 2;
    options.average = false;
    GradientAggregator gradients(
        communicator, {{3, Dtype::f64}, {3, Dtype::f16}, {3, Dtype::bf16}, {3, Dtype::f32}},
        options);
    const float mine = communicator.ranks().rank == 0 ? 1.0F : 0.5F;
    for (int batch = 0; batch < 2; ++batch) {
      std::array<double, 3> doubles{1, 1, static_cast<double>(mine)};
      std::array<uint16_t, 3> halves{to_half(mine), 0, to_half(-2 * mine)};
      std::array<uint16_t, 3> bfloats{to_bf16(mine), 0, to_bf16(-2 * mine)};
      std::array<float, 3> floats{mine, 0, -2 * mine};
      gradients.add(0, doubles.data(), doubles.data());
      gradients.add(1, halves.data(), halves.data());
      gradients.add(2, bfloats.data(), bfloats.data());
      gradients.add(3, floats.data(), floats.data());
      if (!gradients.step()) continue;
      require(doubles == std::array<double, 3>{2, 2, 1.5}, "doubles");
      require(from_half(halves[0]) == 1.5F && halves[1] == 0 && from_half(halves[2]) == -3,
              "halves");
      require(from_bf16(bfloats[0]) == 1.5F && from_bf16(bfloats[2]) == -3, "bfloats");
      require(floats == std::array<float, 3>{1.5, 0, -3}, "floats");
    }
  });
  assert_string_equal(outcome.all().c_str(), "");
}

// By every way that keeps them in one place.
void gradients_added_up_where_they_are_computed_are_the_same(void **) {
  const std::vector<GradientTensor> large = {
      {70, Dtype::f32}, {0, Dtype::f32}, {50000, Dtype::f32}};
  struct Job {
    int nodes, per_node;
    JobOptions options;
  };
  for (const Job &job :
       {Job{1, 2, {}}, Job{1, 4, {}}, Job{2, 2, {}}, Job{1, 2, {.force_tcp = true}}})
    for (const bool last_first : {true, false}) {
      GradientOptions options;
      options.last_first = last_first;
      options.fusion_threshold = last_first ? 100 : 1000000;
      const Outcome outcome = run_ranks(
          job.nodes, job.per_node,
          [&](comm::Communicator &communicator) {
            const std::vector<Floats> copied = train(communicator, large, options, 3);
            require(train_in_place(communicator, large, options, 3) == copied, "the same bits");
          },
          job.options);
      assert_string_equal(outcome.all().c_str(), "");
    }
}

// Where what is added up lies elsewhere, or in turns.
void gradients_have_no_place_where_they_are_copied(void **) {
  const std::vector<GradientTensor> large = {{50000, Dtype::f32}};
  const Outcome outcome = run_ranks(1, 2, [&](comm::Communicator &communicator) {
    const auto has_place = [&](const std::vector<GradientTensor> &tensors,
                               const GradientOptions &options) {
      return !GradientAggregator(communicator, tensors, options).memory().empty();
    };
    require(has_place(large, {}), "large ones");
    require(!has_place({{5, Dtype::f32}}, {}), "few");
    GradientOptions options;
    options.compress = true;
    require(!has_place(large, options), "half precision");
    options.compress = false;
    options.frequency = 2;
    require(!has_place(large, options), "several batches");
  });
  assert_string_equal(outcome.all().c_str(), "");
  const auto alone = comm::make_single_communicator();
  assert_true(GradientAggregator(*alone, large, {}).memory().empty());
}

// A tensor without a gradient has none afterwards, and leaves nothing of an earlier period.
void what_has_no_gradient_gets_none(void **) {
  const Outcome outcome = run_ranks(1, 2, [](comm::Communicator &communicator) {
    GradientAggregator gradients(communicator, {{2, Dtype::f32}, {2, Dtype::f32}}, {});
    for (const float given : {4.0F, 6.0F}) {
      const Floats one{given, given};
      Floats result{-1, -1};
      const bool has_first = given < 5;
      gradients.add(has_first ? 0 : 1, one.data(), result.data());
      require(gradients.step() && result == one, "the other one's");
    }
  });
  assert_string_equal(outcome.all().c_str(), "");
}

void expect_on_all(const Outcome &outcome, Code code, const std::string &text) {
  for (size_t rank = 0; rank < outcome.size(); ++rank) {
    const std::string got = outcome.text(static_cast<int>(rank));
    if (got.find(text) == std::string::npos) assert_string_equal(got.c_str(), text.c_str());
    assert_int_equal(outcome.code(static_cast<int>(rank)), code);
  }
}

void ranks_that_differ_all_hear_it(void **) {
  const auto with = [](const std::vector<GradientTensor> &first,
                       const std::vector<GradientTensor> &others, const GradientOptions &second) {
    return run_ranks(1, 2, [&](comm::Communicator &communicator) {
      const bool is_first = communicator.ranks().rank == 0;
      const GradientAggregator gradients(communicator, is_first ? first : others,
                                         is_first ? GradientOptions() : second);
    });
  };
  expect_on_all(with(three, {{7, Dtype::f32}}, {}), Code::conflict,
                "rank 0 registered 4 tensors and rank 1 1");
  expect_on_all(with({{7, Dtype::f32}}, {{7, Dtype::f64}}, {}), Code::conflict,
                "tensor 0 has 7 elements of F32 on rank 0 and 7 elements of F64 on rank 1");
  GradientOptions other;
  other.frequency = 2;
  expect_on_all(with(three, three, other), Code::conflict,
                "rank 0 and rank 1 gave different options, such as aggregation_frequency");
  other.frequency = 0;
  expect_on_all(with(three, three, other), Code::invalid, "aggregation_frequency is 0");
  expect_on_all(with({{7, Dtype::i32}}, three, {}), Code::invalid, "tensor 0 is not of F16");

  const Outcome missing = run_ranks(1, 3, [](comm::Communicator &communicator) {
    GradientAggregator gradients(communicator, three, {});
    float value[7] = {};
    gradients.add(0, value, value);
    if (communicator.ranks().rank != 1) gradients.add(1, value, value);
    gradients.step();
  });
  expect_on_all(missing, Code::conflict, "rank 0 added gradient 1 and rank 1 did not");
}

// Whether its arguments cannot even be read, or it is gone: nobody waits for it.
void a_rank_that_fails_leaves_no_other_waiting(void **) {
  for (const JobOptions &job : {JobOptions(), JobOptions{.force_tcp = true}}) {
    for (const int nodes : {1, 3}) {
      const auto run = [&](const std::function<void(comm::Communicator &)> &work) {
        return run_ranks(nodes, 3 / nodes, work, job);
      };
      const Outcome unread = run([&](comm::Communicator &communicator) {
        GradientAggregator(communicator, [&]() -> trial::GradientRegistration {
          if (communicator.ranks().rank == 1) throw Error(Code::invalid, "no tensors");
          return {three, {}};
        });
      });
      assert_string_equal(unread.text(1).c_str(), "no tensors");
      for (const int rank : {0, 2}) {
        assert_string_equal(unread.text(rank).c_str(), "rank 1: no tensors");
        assert_int_equal(unread.code(rank), Code::invalid);
      }
      const Outcome left = run([&](comm::Communicator &communicator) {
        GradientAggregator gradients(communicator, {{1, Dtype::f32}}, {});
        float value = 1;
        gradients.add(0, &value, &value);
        require(gradients.step(), "a step of all");
        if (communicator.ranks().rank == 1) throw Error(Code::callback, "training failed");
        gradients.add(0, &value, &value);
        gradients.step();
      });
      for (const int rank : {0, 2}) {
        assert_int_equal(left.code(rank), Code::unavailable);
        assert_non_null(std::strstr(left.text(rank).c_str(), "rank 1"));
      }
    }
  }
}

template <class Work>
void expect_error(Code code, const char *text, const Work &work) {
  try {
    work();
    fail_msg("%s", text);
  } catch (const Error &error) {
    assert_non_null(std::strstr(error.what(), text));
    assert_int_equal(error.code, code);
  }
}

void what_cannot_be_is_refused(void **) {
  const auto alone = comm::make_single_communicator();
  GradientOptions options;
  options.frequency = 2;
  expect_error(Code::unsupported, "sparse gradients cannot be added up", [&] {
    GradientAggregator(*alone, {{7, Dtype::f32, true}}, options);
  });
  GradientOptions on_devices = options;
  on_devices.way = trial::Way::nccl;
  expect_error(Code::unsupported, "use aggregation_frequency 1 without gradient_compression", [&] {
    GradientAggregator(*alone, {{7, Dtype::f32}}, on_devices);
  });
  GradientAggregator gradients(*alone, {{1, Dtype::f32}}, options);
  float value = 1;
  expect_error(Code::invalid, "only 1 tensors", [&] { gradients.add(1, &value, &value); });
  gradients.add(0, &value, &value);
  expect_error(Code::state, "end the batch", [&] { gradients.add(0, &value, &value); });
  assert_false(gradients.step());
  expect_error(Code::conflict, "missing in the last batch", [&] { gradients.step(); });
  expect_error(Code::state, "an earlier step failed", [&] { gradients.step(); });
}

// Every half there is, and what lies between them.
void halves_are_rounded_to_the_nearest(void **) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = from_half(half);
    if ((half & 0x7fffU) > 0x7c00U) {
      assert_true(std::isnan(value) && std::isnan(from_half(to_half(value))));
      continue;
    }
    assert_int_equal(to_half(value), half);
    if ((half & 0x7fffU) >= 0x7bffU) continue;
    const float next = from_half(static_cast<uint16_t>(half + 1));
    const float middle = (value + next) / 2;
    assert_int_equal(to_half(middle), half % 2 == 0 ? half : half + 1);
    assert_int_equal(to_half(std::nextafter(middle, value)), half);
    assert_int_equal(to_half(std::nextafter(middle, next)), half + 1);
  }
  assert_int_equal(to_half(65519), 0x7bff);
  assert_int_equal(to_half(65520), 0x7c00);
  assert_int_equal(to_bf16(1.00390625F), 0x3f80);  // a tie, to even
  assert_int_equal(to_bf16(1.01171875F), 0x3f82);
  assert_true(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7f800001)))));
}

// Several at once as each by itself, wherever a block ends.
void blocks_of_halves_are_what_each_half_is(void **) {
  std::vector<uint16_t> halves(0x10000 - 1);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  Floats floats(halves.size());
  from_halves(halves.data(), floats.data(), floats.size());
  for (size_t i = 0; i < halves.size(); ++i)
    assert_true(floats[i] == from_half(halves[i]) ||
                (std::isnan(floats[i]) && std::isnan(from_half(halves[i]))));
  const Floats between = gradient(1, 4099, 0, 0);
  for (const float by : {1.0F, 3.0F, 1e-6F}) {
    std::vector<uint16_t> rounded(between.size());
    to_halves(between.data(), rounded.data(), rounded.size(), by);
    for (size_t i = 0; i < rounded.size(); ++i)
      assert_int_equal(rounded[i], to_half(between[i] / by));
  }
}

}  // namespace
}  // namespace det::test

int test_gradients() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_rank_gets_the_mean),
      cmocka_unit_test(half_precision_between_ranks_is_close_and_the_same),
      cmocka_unit_test(large_gradients_stay_finite_in_half_precision),
      cmocka_unit_test(all_dtypes_are_added_up),
      cmocka_unit_test(gradients_added_up_where_they_are_computed_are_the_same),
      cmocka_unit_test(gradients_have_no_place_where_they_are_copied),
      cmocka_unit_test(what_has_no_gradient_gets_none),
      cmocka_unit_test(ranks_that_differ_all_hear_it),
      cmocka_unit_test(a_rank_that_fails_leaves_no_other_waiting),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(halves_are_rounded_to_the_nearest),
      cmocka_unit_test(blocks_of_halves_are_what_each_half_is),
  };
  return cmocka_run_group_tests_name("gradients", tests, nullptr, nullptr);
}
