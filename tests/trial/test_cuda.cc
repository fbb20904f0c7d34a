// Gradients and arrays in memory of a CUDA device, by a driver of the test's own: there need be no
// device.
#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/trial/gradients/gradients.h"
#include "core/trial/ranks/broadcast_arrays.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"
#include "tests/tensors/fake_cuda.h"

namespace det::test {
namespace {

using tensors::Dtype;
using trial::GradientAggregator;
using trial::GradientOptions;

constexpr size_t count = (size_t{5} << 20U) / sizeof(float);  // more than is copied at once

// Memory of a device, each element with one value.
class OnDevice {
 public:
  explicit OnDevice(float value) : address_(fake_cuda_alloc(count * sizeof(float))) { set(value); }
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;
  ~OnDevice() { fake_cuda_free(); }

  char *address() const { return address_; }
  static void set(float value) {
    std::fill_n(reinterpret_cast<float *>(fake_cuda_bytes()), count, value);
  }
  static bool is(float value) {
    const auto *bytes = reinterpret_cast<const float *>(fake_cuda_bytes());
    return std::all_of(bytes, bytes + count, [&](float each) { return each == value; });
  }

 private:
  char *const address_;
};

void gradients_on_a_device_are_added_up_there(void **) {
  for (const bool compress : {false, true}) {
    const OnDevice device(1);
    GradientOptions options;
    options.frequency = 2;
    options.average = false;
    options.compress = compress;
    const Outcome outcome = run_ranks(1, 2, [&](comm::Communicator &communicator) {
      const bool has_device = communicator.ranks().rank == 0;
      GradientAggregator gradients(communicator, {{count, Dtype::f32}}, options);
      std::vector<float> host(count, 5);
      void *data = has_device ? static_cast<void *>(device.address()) : host.data();
      for (const bool is_last : {false, true}) {
        gradients.add(0, data, data);
        require(gradients.step() == is_last, "applied at the end");
      }
      require(has_device ? OnDevice::is(6) : host.front() == 6 && host.back() == 6, "the mean");
    });
    assert_string_equal(outcome.all().c_str(), "");
    assert_int_equal(fake_cuda.synchronized, 2);  // before each gradient
    assert_int_equal(fake_cuda.pinned, 0);
    assert_int_equal(fake_cuda.streams, 0);
  }
}

// A gradient there and its result here, where nothing is added to it; and in its own place,
// nothing.
void gradients_of_one_rank_may_change_their_place(void **) {
  const OnDevice device(3);
  const auto alone = comm::make_single_communicator();
  GradientAggregator gradients(*alone, {{count, Dtype::f32}}, {});
  std::vector<float> host(count);
  gradients.add(0, device.address(), host.data());
  assert_true(gradients.step());
  assert_true(host.front() == 3 && host.back() == 3);
  host.assign(count, 4);
  gradients.add(0, host.data(), device.address());
  assert_true(gradients.step());
  assert_true(OnDevice::is(4));
  const int copies = fake_cuda.copies;
  gradients.add(0, device.address(), device.address());
  assert_true(gradients.step());
  assert_int_equal(fake_cuda.copies, copies);
}

// Rank `where` of two has the array on the device, and its copy number `fail_at` fails.
Outcome broadcast(int where, int fail_at) {
  const OnDevice device(where == 0 ? 7 : 0);
  fake_cuda.fail_at = fail_at;
  return run_ranks(1, 2, [&](comm::Communicator &communicator) {
    const int rank = communicator.ranks().rank;
    std::vector<float> host(count, rank == 0 ? 7 : 0);
    char *data = rank == where ? device.address() : reinterpret_cast<char *>(host.data());
    trial::broadcast_arrays(communicator, [&]() -> std::vector<tensors::Tensor> {
      return {{{"weights", Dtype::f32, tensors::Region::whole({count}), {count}}, data}};
    });
    require(rank == where ? OnDevice::is(7) : host.front() == 7 && host.back() == 7, "the array");
  });
}

void arrays_on_a_device_are_broadcast(void **) {
  for (const int where : {0, 1}) {
    assert_string_equal(broadcast(where, 0).all().c_str(), "");
    const Outcome failed = broadcast(where, 2);
    for (const int rank : {0, 1}) {
      assert_int_equal(failed.code(rank), Code::io);
      assert_non_null(std::strstr(failed.text(rank).c_str(), "the CUDA driver answers 700"));
    }
    const std::string named = "rank " + std::to_string(where) + ": ";
    assert_true(failed.text(1 - where).starts_with(named));
  }
}

}  // namespace
}  // namespace det::test

int main() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(gradients_on_a_device_are_added_up_there),
      cmocka_unit_test(gradients_of_one_rank_may_change_their_place),
      cmocka_unit_test(arrays_on_a_device_are_broadcast),
  };
  return cmocka_run_group_tests_name("gradients of CUDA devices", tests, nullptr, nullptr);
}
