// Tensors to a file and back: whole, in parts, and what is refused.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "core/storage/progress.h"
#include "core/storage/storage.h"
#include "tests/tensors/fixture.h"

namespace det::tensors {
namespace {

Reader open(const TemporaryDirectory &directory, const std::string &name) {
  return Reader(storage::Tree(directory.path()), name, true);
}

void every_dtype_and_shape_comes_back(void **) {
  const TemporaryDirectory directory;
  std::vector<Owned> given;
  for (int number = 1; number <= last_dtype; ++number) {
    const Dtype dtype = *dtype_numbered(number);
    for (const Shape &shape : {Shape{4}, Shape{0}, Shape{2, 0, 3}, Shape{3, 5, 8}})
      given.emplace_back(name_of(dtype) + text_of(shape), dtype, shape);
    if (bits_of(dtype) >= 8) given.emplace_back(name_of(dtype) + std::string("[]"), dtype, Shape{});
  }
  const storage::Tree root(directory.path());
  const storage::HashedFile file =
      write_file(root, "all", tensors_of(given), {{"made by", "a test"}});
  assert_int_equal(file.checksum, storage::checksums_of(directory.path(), {"all"}).at("all"));
  assert_int_equal(file.stamp.size, std::filesystem::file_size(directory / "all"));

  const Reader reader = open(directory, "all");
  assert_int_equal(reader.entries().size(), given.size());
  assert_string_equal(reader.metadata().at("made by").c_str(), "a test");
  std::vector<Owned> read;
  for (const Owned &each : given)
    read.emplace_back(each.tensor.name, each.tensor.dtype, each.tensor.whole, each.tensor.region);
  reader.read(tensors_of(read));
  for (size_t i = 0; i < given.size(); ++i) assert_true(read[i].bytes == given[i].bytes);
}

void any_part_can_be_read(void **) {
  const TemporaryDirectory directory;
  const Owned all("x", Dtype::i16, {7, 9, 11});
  write_file(storage::Tree(directory.path()), "file", {all.tensor}, {});
  const Reader reader = open(directory, "file");
  for (const Region &region : {Region{{0, 0, 0}, {7, 9, 11}}, Region{{3, 0, 0}, {1, 9, 11}},
                               Region{{2, 3, 4}, {3, 4, 5}}, Region{{6, 8, 10}, {1, 1, 1}},
                               Region{{0, 0, 10}, {7, 9, 1}}, Region{{0, 5, 0}, {7, 0, 11}}}) {
    const Owned part("x", Dtype::i16, {7, 9, 11}, region);
    reader.read({part.tensor});
    assert_true(part.bytes == part_of(all, region).bytes);
  }
}

// Larger than a block of the manifest's checksums, and than what a thread is handed at once.
void large_files_are_summed_and_read_in_blocks(void **) {
  const TemporaryDirectory directory;
  std::vector<Owned> given;
  given.emplace_back("large", Dtype::f32, Shape{1025, 17, 1024});
  given.emplace_back("a small one", Dtype::u8, Shape{3});
  auto *numbers = reinterpret_cast<uint32_t *>(given[0].bytes.data());
  for (uint32_t i = 0; i < given[0].bytes.size() / 4; ++i) numbers[i] = i * 2654435761U;
  const storage::HashedFile file =
      write_file(storage::Tree(directory.path()), "file", tensors_of(given), {});
  assert_int_equal(file.checksum, storage::checksums_of(directory.path(), {"file"}).at("file"));
  const Reader reader = open(directory, "file");
  const Owned whole("large", Dtype::f32, {1025, 17, 1024}, Region::whole({1025, 17, 1024}));
  reader.read({whole.tensor});
  assert_true(whole.bytes == given[0].bytes);
  const Region columns{{1, 0, 512}, {1023, 17, 3}};
  const Owned part("large", Dtype::f32, {1025, 17, 1024}, columns);
  reader.read({part.tensor});
  assert_true(part.bytes == part_of(given[0], columns).bytes);
}

void offsets_beyond_32_bits_are_read(void **) {
  const TemporaryDirectory directory;
  constexpr uint64_t far = uint64_t{5} << 30U;
  const std::string header = format_header(
      {{"hole", Dtype::u8, {5, uint64_t{1} << 30U}, 0, far}, {"end", Dtype::u8, {4}, far, far + 4}},
      {});
  write_text(directory / "sparse", header);
  const Fd file = open_file(directory / "sparse", O_WRONLY);
  assert_int_equal(pwrite(file.get(), "last", 4, static_cast<off_t>(header.size() + far)), 4);
  assert_int_equal(pwrite(file.get(), "x", 1, static_cast<off_t>(header.size() + far - 1)), 1);
  const Reader reader = open(directory, "sparse");
  const Owned end("end", Dtype::u8, {4}, Region::whole({4}));
  const Owned part("hole", Dtype::u8, {5, uint64_t{1} << 30U},
                   {{3, (uint64_t{1} << 30U) - 2}, {2, 2}});
  reader.read({end.tensor, part.tensor});
  assert_string_equal(std::string(end.bytes.begin(), end.bytes.end()).c_str(), "last");
  assert_true((part.bytes == std::vector<char>{0, 0, 0, 'x'}));
}

void what_does_not_fit_is_refused_before_anything_is_read(void **) {
  const TemporaryDirectory directory;
  const Owned all("x", Dtype::f32, {4, 4});
  write_file(storage::Tree(directory.path()), "file", {all.tensor}, {});
  const Reader reader = open(directory, "file");
  const auto refused = [&](Code code, const Owned &wanted, const char *words) {
    const Owned fine("x", Dtype::f32, {4, 4}, Region::whole({4, 4}));
    const std::string message = expect_error(code, [&] {
      reader.read({fine.tensor, wanted.tensor});
    });
    if (!contains(message, words)) fail_msg("'%s' is not in '%s'", words, message.c_str());
    assert_true(fine.bytes == std::vector<char>(64, 0));
  };
  refused(Code::not_found, Owned("y", Dtype::f32, {4, 4}), "there are: 'x'");
  refused(Code::invalid, Owned("x", Dtype::i32, {4, 4}), "it is F32 [4, 4]");
  refused(Code::invalid, Owned("x", Dtype::f32, {16}), "as F32 [16]");
  Owned outside("x", Dtype::f32, {4, 4}, {{3, 0}, {1, 4}});
  outside.tensor.region.offset[0] = 4;
  refused(Code::invalid, outside, "does not lie in the tensor");
  Owned nowhere("x", Dtype::f32, {4, 4});
  nowhere.tensor.data = nullptr;
  refused(Code::invalid, nowhere, "its data is NULL");
}

void what_no_file_can_have_is_refused(void **) {
  for (const char *name : {"", "__metadata__", "\xff"})
    expect_error(Code::invalid, [&] { check(Owned(name, Dtype::u8, {1}).tensor); });
  expect_error(Code::invalid, [&] { check(Owned("odd", Dtype::f4, {3}).tensor); });
  expect_error(Code::unsupported, [&] {
    check(Owned("part", Dtype::f4, {4, 4}, {{0, 0}, {2, 4}}).tensor);
  });
  std::vector<Owned> twice;
  for (int i = 0; i < 2; ++i) twice.emplace_back("x", Dtype::u8, Shape{1});
  assert_true(contains(expect_error(Code::invalid, [&] { check_names(tensors_of(twice)); }),
                       "'x' is given twice"));
}

void a_name_that_is_taken_is_not_written_over(void **) {
  const TemporaryDirectory directory;
  write_text(directory / "file", "mine");
  const Owned all("x", Dtype::f32, {4, 4});
  expect_error(Code::conflict,
               [&] { write_file(storage::Tree(directory.path()), "file", {all.tensor}, {}); });
  assert_string_equal(read_file(directory / "file").c_str(), "mine");
}

void a_file_that_changed_is_not_read(void **) {
  const TemporaryDirectory directory;
  const Owned all("x", Dtype::f32, {4, 4});
  write_file(storage::Tree(directory.path()), "file", {all.tensor}, {});
  const Reader reader = open(directory, "file");
  write_text(directory / "file", "another");
  const std::string message = expect_error(Code::conflict, [&] { reader.read({all.tensor}); });
  assert_true(contains(message, "changed since it was opened"));
}

void links_do_not_lead_out_of_a_checkpoint(void **) {
  const TemporaryDirectory directory, elsewhere;
  const Owned all("x", Dtype::f32, {4, 4});
  write_file(storage::Tree(elsewhere.path()), "file", {all.tensor}, {});
  std::filesystem::create_symlink(elsewhere / "file", directory / "file");
  expect_error(Code::corrupt, [&] { open(directory, "file"); });
  expect_error(Code::invalid, [&] { open(directory, "../file"); });
  Reader(storage::Tree(directory.path()), "file", false);  // what the caller names himself
}

void a_write_that_is_stopped_leaves_nothing(void **) {
  const TemporaryDirectory directory;
  const Owned all("x", Dtype::u8, {1 << 20});
  storage::Progress progress([](const storage::ProgressCount &count) {
    assert_true(count.bytes <= count.total_bytes);
    throw Error(Code::callback, "stopped");
  });
  expect_error(Code::callback, [&] {
    write_file(storage::Tree(directory.path()), "file", {all.tensor}, {}, true, &progress);
  });
  assert_false(std::filesystem::exists(directory / "file"));
}

void without_a_driver_device_memory_is_refused(void **) {
  if (dlopen("libcuda.so.1", RTLD_NOW) != nullptr) {
    print_message("# SKIPPED: there is a driver here\n");
    skip();
  }
  const TemporaryDirectory directory;
  Owned all("x", Dtype::u8, {4});
  all.tensor.device = Device::cuda;
  const std::string message = expect_error(Code::unsupported, [&] {
    write_file(storage::Tree(directory.path()), "file", {all.tensor}, {});
  });
  assert_true(contains(message, "libcuda.so.1 cannot be loaded"));
  assert_false(std::filesystem::exists(directory / "file"));
}

void a_full_disk_is_told_and_leaves_nothing(void **) {
  const TemporaryDirectory directory;
  const Owned all("x", Dtype::u8, {uint64_t{3} << 20U});
  rlimit limit{}, small{};
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  small = limit;
  small.rlim_cur = 1 << 20;
  const auto before = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    write_file(storage::Tree(directory.path()), "file", {all.tensor}, {});
  } catch (const Error &e) {
    message = e.what();
  }
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, before);
  assert_true(contains(message, "File too large"));
  assert_false(std::filesystem::exists(directory / "file"));
}

}  // namespace
}  // namespace det::tensors

int test_files() {
  using namespace det::tensors;
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_dtype_and_shape_comes_back),
      cmocka_unit_test(any_part_can_be_read),
      cmocka_unit_test(large_files_are_summed_and_read_in_blocks),
      cmocka_unit_test(offsets_beyond_32_bits_are_read),
      cmocka_unit_test(what_does_not_fit_is_refused_before_anything_is_read),
      cmocka_unit_test(what_no_file_can_have_is_refused),
      cmocka_unit_test(a_name_that_is_taken_is_not_written_over),
      cmocka_unit_test(a_file_that_changed_is_not_read),
      cmocka_unit_test(links_do_not_lead_out_of_a_checkpoint),
      cmocka_unit_test(a_write_that_is_stopped_leaves_nothing),
      cmocka_unit_test(without_a_driver_device_memory_is_refused),
      cmocka_unit_test(a_full_disk_is_told_and_leaves_nothing),
  };
  return cmocka_run_group_tests_name("files of tensors", tests, nullptr, nullptr);
}
