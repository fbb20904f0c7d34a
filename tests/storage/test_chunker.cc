// Where files are cut: at places that their content decides.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/storage/chunks/chunker.h"
#include "tests/assert_equal.h"
#include "tests/storage/chunk_files.h"

namespace det::storage {

namespace {

std::vector<std::string> chunks_of(const std::string &bytes) {
  std::vector<std::string> chunks;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = chunk_length(bytes.data() + at, bytes.size() - at);
    assert_true(length > 0 && at + length <= bytes.size());
    chunks.push_back(bytes.substr(at, length));
    at += length;
  }
  return chunks;
}

size_t bytes_only_in(const std::vector<std::string> &chunks,
                     const std::vector<std::string> &others) {
  const std::set<std::string> known(others.begin(), others.end());
  size_t bytes = 0;
  for (const std::string &chunk : chunks)
    if (!known.contains(chunk)) bytes += chunk.size();
  return bytes;
}

void lengths_are_within_their_bounds_and_near_the_normal_one(void **) {
  const std::string bytes = random_bytes(64 << 20, 1);
  const std::vector<std::string> chunks = chunks_of(bytes);
  std::string again;
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (i + 1 < chunks.size()) assert_true(chunks[i].size() >= chunk_least);
    assert_true(chunks[i].size() <= chunk_most);
    again += chunks[i];
  }
  assert_true(again == bytes);
  const size_t mean = bytes.size() / chunks.size();
  assert_true(mean > chunk_normal * 3 / 4 && mean < chunk_normal * 3 / 2);
}

// What is cut for good stays so: other bounds find nothing of what is stored already.
void cuts_are_the_same_in_every_release(void **) {
  const std::vector<std::string> chunks = chunks_of(random_bytes(4 << 20, 2));
  std::vector<size_t> lengths;
  for (size_t i = 0; i < 4; ++i) lengths.push_back(chunks[i].size());
  const std::vector<size_t> expected{319268, 429887, 175926, 412815};
  assert_equal(lengths, expected);
}

// In each part of what is gone through at once, and near its edges.
void many_cuts_are_the_same_in_every_release(void **) {
  Checksum lengths;
  std::string bytes = random_bytes(48 << 20, 8);
  for (size_t at = bytes.size() / 2; at < bytes.size(); ++at) bytes[at] = bytes[at] & 7;
  const auto add = [&](uint64_t length) { lengths.add(&length, sizeof length); };
  for (const std::string &chunk : chunks_of(bytes)) add(chunk.size());
  for (size_t size = chunk_least - 1; size < 2 * chunk_most; size += 997)
    add(chunk_length(bytes.data() + size, size));
  assert_true(lengths.value() == 0xe8332c1191f56377);
}

void what_follows_does_not_move_a_cut(void **) {
  const std::string bytes = random_bytes(2 * chunk_most, 3);
  const size_t length = chunk_length(bytes.data(), bytes.size());
  assert_int_equal(chunk_length(bytes.data(), chunk_most), length);
  assert_int_equal(chunk_length(bytes.data(), length), length);
}

void an_insertion_moves_only_cuts_near_it(void **) {
  const std::string bytes = random_bytes(16 << 20, 4);
  const std::vector<std::string> before = chunks_of(bytes);
  for (const size_t at : {size_t{0}, size_t{1}, bytes.size() / 3, bytes.size() - 1, bytes.size()})
    for (const size_t size : {size_t{1}, size_t{100}, size_t{1} << 20}) {
      std::string changed = bytes;
      changed.insert(at, random_bytes(size, 5));
      const size_t fresh = bytes_only_in(chunks_of(changed), before);
      assert_true(fresh <= size + 4 * chunk_most);
    }
}

void a_change_in_place_moves_only_cuts_near_it(void **) {
  const std::string bytes = random_bytes(16 << 20, 6);
  std::string changed = bytes;
  for (size_t at = 5 << 20; at < (5 << 20) + 1000; ++at)
    changed[at] = static_cast<char>(~changed[at]);
  assert_true(bytes_only_in(chunks_of(changed), chunks_of(bytes)) <= 3 * chunk_most);
}

void small_and_uniform_data_is_cut_too(void **) {
  assert_int_equal(chunk_length("", 0), 0);
  assert_int_equal(chunk_length("x", 1), 1);
  const std::string least = random_bytes(chunk_least, 7);
  assert_int_equal(chunk_length(least.data(), least.size()), least.size());
  for (const char byte : {'\0', '\1', 'x', '\xff'}) {
    const std::string uniform(3 * chunk_most + 1, byte);
    const std::vector<std::string> chunks = chunks_of(uniform);
    assert_true(std::set<std::string>(chunks.begin(), chunks.end()).size() <= 2);
  }
}

void names_of_chunks_are_sha256_and_read_back(void **) {
  ChunkName name = name_of_chunk("abc");
  assert_string_equal(to_text(name).c_str(),
                      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_true(chunk_name_from(to_text(name)) == name);
  name.generation = 12;
  assert_true(chunk_name_from(to_text(name)) == name);
  const std::string plain = to_text(name_of_chunk("abc"));
  for (const std::string &wrong : {std::string(), plain.substr(1), plain + "-", plain + "-0",
                                   plain + "-x", plain + "-01", plain + "1", "G" + plain.substr(1)})
    assert_false(chunk_name_from(wrong).has_value());
}

ChunkedFiles some_files() {
  ChunkedFiles files;
  ChunkedFile file{300, 0x123456789abcdef0, 0640, -5, "u7", {}};
  file.chunks.push_back({name_of_chunk("one"), 100});
  file.chunks.push_back({name_of_chunk("two"), 200});
  file.chunks[1].name.generation = 3;
  files["dir/\xff name"] = file;
  files["none"] = {0, 1, 0600, 2, "u7", {}};
  return files;
}

void lists_read_back(void **) {
  const ChunkedFiles files = unpack_chunk_list(pack_chunk_list(some_files()));
  assert_int_equal(files.size(), 2);
  const ChunkedFile &file = files.at("dir/\xff name");
  assert_true(file.size == 300 && file.checksum == 0x123456789abcdef0 && file.mode == 0640);
  assert_true(file.mtime_ns == -5 && file.owner == "u7" && file.chunks.size() == 2);
  assert_true(file.chunks[0].name == name_of_chunk("one") && file.chunks[1].size == 200);
  assert_int_equal(file.chunks[1].name.generation, 3);
}

void damaged_lists_are_found(void **) {
  const std::string good = pack_chunk_list(some_files());
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    assert_throws(Code::corrupt, "", [&] { unpack_chunk_list(bad); });
    assert_throws(Code::corrupt, "", [&] { unpack_chunk_list(good.substr(0, at)); });
  }
}

void impossible_lists_are_found_though_their_checksum_is_right(void **) {
  const auto refused = [](const std::function<void(ChunkedFile &)> &spoil,
                          const std::string &path = "file") {
    ChunkedFile file = some_files().begin()->second;
    spoil(file);
    const std::string bytes = pack_chunk_list({{path, file}});
    assert_throws(Code::corrupt, "", [&] { unpack_chunk_list(bytes); });
  };
  refused([](ChunkedFile &file) { file.size = 299; });
  refused([](ChunkedFile &file) { file.chunks[0].size = 0; });
  refused([](ChunkedFile &file) { file.size = file.chunks[0].size = (64 << 20) + 1; });
  refused([](ChunkedFile &) {}, "../file");
  refused([](ChunkedFile &) {}, "/file");
}

}  // namespace

}  // namespace det::storage

int test_chunker() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      cmocka_unit_test(lengths_are_within_their_bounds_and_near_the_normal_one),
      cmocka_unit_test(cuts_are_the_same_in_every_release),
      cmocka_unit_test(many_cuts_are_the_same_in_every_release),
      cmocka_unit_test(what_follows_does_not_move_a_cut),
      cmocka_unit_test(an_insertion_moves_only_cuts_near_it),
      cmocka_unit_test(a_change_in_place_moves_only_cuts_near_it),
      cmocka_unit_test(small_and_uniform_data_is_cut_too),
      cmocka_unit_test(names_of_chunks_are_sha256_and_read_back),
      cmocka_unit_test(lists_read_back),
      cmocka_unit_test(damaged_lists_are_found),
      cmocka_unit_test(impossible_lists_are_found_though_their_checksum_is_right),
  };
  return cmocka_run_group_tests_name("cutting files into chunks", tests, nullptr, nullptr);
}
