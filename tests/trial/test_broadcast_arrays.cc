// Arrays of rank 0 on all ranks of a job, in every way that they may travel.
#include "core/trial/ranks/broadcast_arrays.h"

#include <cstring>
#include <numeric>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/comm/thread_transport.h"

namespace det::test {
namespace {

using tensors::Dtype;
using tensors::Region;
using tensors::Tensor;

// Arrays of one model, each on a rank of its own: many small ones, and one beyond a piece.
struct Arrays {
  explicit Arrays(int rank, const tensors::Shape &large = {5, 8}) {
    add("empty", {0, 3}, 0, rank);
    for (int i = 0; i < 300; ++i) add("small " + std::to_string(i), {7}, 7, rank);
    add("large", large, tensors::elements_of(large).value(), rank);
    add("scalar", {}, 1, rank);
  }
  void add(const std::string &name, const tensors::Shape &shape, size_t count, int rank) {
    std::vector<float> &values = memory.emplace_back(count);
    std::iota(values.begin(), values.end(),
              static_cast<float>(memory.size()) + 1000.0F * static_cast<float>(rank));
    list.push_back(
        {{name, Dtype::f32, Region::whole(shape), shape}, reinterpret_cast<char *>(values.data())});
  }
  Arrays(const Arrays &) = delete;
  Arrays &operator=(const Arrays &) = delete;

  std::vector<std::vector<float>> memory;
  std::vector<Tensor> list;
};

void broadcast_and_compare(comm::Communicator &communicator, const tensors::Shape &large) {
  const Arrays mine(communicator.ranks().rank, large), chief(0, large);
  trial::broadcast_arrays(communicator, [&] { return mine.list; });
  require(mine.memory == chief.memory, "every array is that of rank 0");
}

void broadcast_few(comm::Communicator &communicator) { broadcast_and_compare(communicator, {5}); }
void broadcast_much(comm::Communicator &communicator) {
  broadcast_and_compare(communicator, {5, 1024, 1024});
}

void every_rank_gets_the_arrays_of_the_chief(void **) {
  assert_string_equal(run_ranks(1, 1, broadcast_few).all().c_str(), "");
  assert_string_equal(run_ranks(1, 2, broadcast_much).all().c_str(), "");
  assert_string_equal(run_ranks(2, 2, broadcast_few).all().c_str(), "");
  assert_string_equal(run_ranks(1, 2, broadcast_much, {.force_tcp = true}).all().c_str(), "");
  ThreadNetwork network(3, true);
  assert_string_equal(network.run(1, 3, broadcast_few).all().c_str(), "");
}

// What the last of three ranks gives instead; the job goes on with the next call.
void expect_refusal(const std::function<std::vector<Tensor>(Arrays &)> &given, Code code,
                    const std::string &text) {
  const Outcome outcome = run_ranks(1, 3, [&](comm::Communicator &communicator) {
    Arrays mine(communicator.ranks().rank);
    const auto before = mine.memory;
    try {
      trial::broadcast_arrays(
          communicator, [&] { return communicator.ranks().rank == 2 ? given(mine) : mine.list; });
    } catch (const Error &e) {
      require(std::strstr(e.what(), text.c_str()) != nullptr && e.code == code,
              std::string(e.what()) + " is about " + text);
      require(mine.memory == before, "nothing is written");
      return broadcast_few(communicator);
    }
    require(false, "an error about " + text);
  });
  assert_string_equal(outcome.all().c_str(), "");
}

void ranks_with_other_arrays_all_hear_which(void **) {
  const auto changed = [](const std::function<void(Tensor &)> &change) {
    return [change](Arrays &mine) {
      change(mine.list[301]);
      return mine.list;
    };
  };
  expect_refusal(changed([](Tensor &array) {
                   array.whole = array.region.shape = {8, 5};
                 }),
                 Code::conflict, "array 'large' is F32 [5, 8] on rank 0 and F32 [8, 5] on rank 2");
  expect_refusal(changed([](Tensor &array) { array.dtype = Dtype::i32; }), Code::conflict,
                 "'large' is F32 [5, 8] on rank 0 and I32 [5, 8] on rank 2");
  expect_refusal(changed([](Tensor &array) { array.name = "other"; }), Code::conflict,
                 "array 301 is 'large' on rank 0 and 'other' on rank 2");
  expect_refusal(
      [](Arrays &mine) {
        mine.list.pop_back();
        return mine.list;
      },
      Code::conflict, "rank 0 gave 303 arrays and rank 2 302");
}

void what_one_rank_cannot_broadcast_no_rank_does(void **) {
  expect_refusal([](Arrays &) -> std::vector<Tensor> { throw Error(Code::invalid, "no arrays"); },
                 Code::invalid, "no arrays");
  expect_refusal(
      [](Arrays &mine) {
        mine.list[301].data = nullptr;
        return mine.list;
      },
      Code::invalid, "'large': its data is NULL");
  expect_refusal(
      [](Arrays &mine) {
        mine.list[301].whole[0] = 6;
        return mine.list;
      },
      Code::invalid, "'large' is a part of an array");
}

}  // namespace
}  // namespace det::test

int test_broadcast_arrays() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_rank_gets_the_arrays_of_the_chief),
      cmocka_unit_test(ranks_with_other_arrays_all_hear_which),
      cmocka_unit_test(what_one_rank_cannot_broadcast_no_rank_does),
  };
  return cmocka_run_group_tests_name("broadcast_arrays", tests, nullptr, nullptr);
}
