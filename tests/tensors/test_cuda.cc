// Tensors in memory of a CUDA device, by a driver of the test's own: there need be no device.
#include "core/storage/storage.h"
#include "core/tensors/cuda_memory.h"
#include "tests/tensors/fake_cuda.h"
#include "tests/tensors/fixture.h"

namespace det::tensors {
namespace {

// Two tensors side by side in device memory, the first much larger than what is copied at once.
struct OnDevice {
  OnDevice() {
    char *at = fake_cuda_alloc(large_size + small_size);
    for (size_t i = 0; i < large_size + small_size; ++i)
      fake_cuda_bytes()[i] = static_cast<char>(i * 31 >> 7U);
    large = {{"large", Dtype::f32, Region::whole(shape), shape}, at, Device::cuda};
    small = {{"small", Dtype::u8, Region::whole({small_size}), {small_size}}, at + large_size};
  }
  ~OnDevice() { fake_cuda_free(); }

  static constexpr size_t small_size = 77;
  const Shape shape{75, 1024, 256};  // more than a block of the checksums
  const size_t large_size = size_t{75} << 20;
  Tensor large, small;
};

void device_memory_is_written_and_read(void **) {
  const TemporaryDirectory directory;
  OnDevice device;
  const Owned host("host", Dtype::f64, {100});
  const storage::HashedFile file = write_file(storage::Tree(directory.path()), "file",
                                              {device.large, host.tensor, device.small}, {});
  assert_int_equal(file.checksum, storage::checksums_of(directory.path(), {"file"}).at("file"));
  assert_int_equal(fake_cuda.synchronized, 1);
  assert_true(fake_cuda.most_pending >= 2);  // one is copied while another is written
  assert_int_equal(fake_cuda.pinned, 0);
  assert_int_equal(fake_cuda.streams, 0);

  const std::string before(fake_cuda_bytes(), device.large_size + OnDevice::small_size);
  std::fill_n(fake_cuda_bytes(), before.size(), '\0');
  const Owned read("host", Dtype::f64, {100}, Region::whole({100}));
  const Reader reader(storage::Tree(directory.path()), "file", true);
  fake_cuda.copies = 0;
  reader.read({device.large, read.tensor, device.small});
  assert_true(before == std::string(fake_cuda_bytes(), before.size()));
  assert_true(read.bytes == host.bytes);
  assert_int_equal(fake_cuda.copies, 75 * 4 / 16 + 1 + 1);
  assert_int_equal(fake_cuda.pinned, 0);
  assert_int_equal(fake_cuda.streams, 0);
}

void memory_of_a_pool_is_copied_in_the_primary_context(void **) {
  const TemporaryDirectory directory;
  OnDevice device;
  fake_cuda.without_context = 1;
  write_file(storage::Tree(directory.path()), "file", {device.small}, {});
  assert_int_equal(fake_cuda.copies, 1);
  assert_int_equal(fake_cuda.retained, 0);
  const std::string text = read_file(directory / "file");
  assert_true(
      text.ends_with(std::string(fake_cuda_bytes() + device.large_size, OnDevice::small_size)));
}

void a_copy_that_fails_leaves_nothing(void **) {
  const TemporaryDirectory directory;
  OnDevice device;
  const storage::Tree root(directory.path());
  for (const int at : {1, 2, 9}) {
    fake_cuda.copies = 0;
    fake_cuda.fail_at = at;
    const std::string message =
        expect_error(Code::io, [&] { write_file(root, "file", {device.large}, {}); });
    assert_true(contains(message, "answers 700 (an illegal memory access was encountered)"));
    assert_false(std::filesystem::exists(directory / "file"));
  }
  fake_cuda.fail_at = 0;
  write_file(root, "file", {device.large}, {});
  const Reader reader(storage::Tree(directory.path()), "file", true);
  fake_cuda.copies = 0;
  fake_cuda.fail_at = 3;
  expect_error(Code::io, [&] { reader.read({device.large}); });
  assert_int_equal(fake_cuda.pinned, 0);
  assert_int_equal(fake_cuda.streams, 0);
}

void memory_of_the_process_is_no_device(void **) {
  const TemporaryDirectory directory;
  Owned host("host", Dtype::u8, {4});
  OnDevice device;
  write_file(storage::Tree(directory.path()), "detected", {host.tensor}, {});
  assert_int_equal(fake_cuda.copies, 0);
  host.tensor.device = Device::cuda;
  const std::string message = expect_error(Code::invalid, [&] {
    write_file(storage::Tree(directory.path()), "file", {host.tensor}, {});
  });
  assert_true(contains(message, "tensor 'host': its data is no memory of a CUDA device"));
}

}  // namespace
}  // namespace det::tensors

int main() {
  using namespace det::tensors;
  const CMUnitTest tests[] = {
      cmocka_unit_test(device_memory_is_written_and_read),
      cmocka_unit_test(memory_of_a_pool_is_copied_in_the_primary_context),
      cmocka_unit_test(a_copy_that_fails_leaves_nothing),
      cmocka_unit_test(memory_of_the_process_is_no_device),
  };
  return cmocka_run_group_tests_name("tensors of CUDA devices", tests, nullptr, nullptr);
}
