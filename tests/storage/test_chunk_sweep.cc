// Who saves and who sweeps, step by step in every order, with a sweep that dies at any of them.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "core/storage/chunks/chunk_sweep.h"
#include "tests/storage/fixture.h"

namespace det::storage {

namespace {

struct Killed {};

// Everything there is, in memory; each operation of a sweep lets others go first.
class World : public Chunks, public ChunkReferences {
 public:
  std::set<ChunkName> chunks, lists;
  std::map<std::string, std::string> written;
  std::set<std::string> saving;
  std::function<void()> before = [] {};

  std::string owner() const override { return "somebody"; }
  bool has(const ChunkName &name, unsigned) override { return chunks.contains(name); }
  void put(const ChunkName &name, std::string_view, unsigned) override { chunks.insert(name); }
  void flush() override {}
  void list(const std::function<void(const ChunkName &)> &each) override {
    before();
    for (const ChunkName &name : std::set(chunks)) each(name);
  }
  void remove(const std::vector<ChunkName> &names) override {
    before();
    for (const ChunkName &name : names) chunks.erase(name);
  }
  std::vector<std::string> notes() override {
    before();
    std::vector<std::string> names;
    for (const auto &[name, text] : written) names.push_back(name);
    return names;
  }
  std::optional<std::string> note(const std::string &name) override {
    before();
    return written.contains(name) ? std::optional(written[name]) : std::nullopt;
  }
  void write_note(const std::string &name, std::string_view text) override {
    before();
    written[name] = text;
  }
  void remove_note(const std::string &name) override {
    before();
    written.erase(name);
  }
  std::set<ChunkName> named() override {
    before();
    return lists;
  }
  std::set<std::string> savers() override {
    before();
    return saving;
  }
};

// As ChunkSaver does it.
class Saver {
 public:
  explicit Saver(World &world) : world_(world) {}
  static constexpr size_t steps = 4;

  void step(size_t which) {
    switch (which) {
      case 0:
        world_.saving.insert("saver");
        break;
      case 1:
        condemned_ = condemned_chunks(world_);
        break;
      case 2:
        name = world_.usable(name, condemned_);
        if (!world_.has(name, 0)) world_.put(name, "bytes", 0);
        break;
      default:
        world_.lists.insert(name);
        world_.saving.erase("saver");
    }
  }

  ChunkName name = name_of_chunk("bytes");

 private:
  World &world_;
  std::set<ChunkName> condemned_;
};

Logger silent;

// A chunk that nobody names, two sweeps, and a saver whose steps come before these operations. The
// first sweep dies at its `death`-th. Gives back how many operations there were.
size_t play(const std::array<size_t, Saver::steps> &at, size_t death) {
  World world;
  world.chunks.insert(name_of_chunk("bytes"));
  note_garbage(world);
  Saver saver(world);
  size_t operation = 0, next = 0;
  bool within = false;  // the saver's own operations are no places
  world.before = [&] {
    if (within) return;
    within = true;
    for (; next < at.size() && at[next] <= operation; ++next) saver.step(next);
    within = false;
    if (operation++ == death) throw Killed();
  };
  try {
    sweep_chunks(world, world, silent);
  } catch (const Killed &) {
  }
  death = static_cast<size_t>(-1);
  sweep_chunks(world, world, silent);
  const size_t count = operation;
  for (within = true; next < at.size(); ++next) saver.step(next);
  for (int i = 0; i < 2; ++i) sweep_chunks(world, world, silent);
  assert_true(world.chunks == std::set<ChunkName>{saver.name});
  note_garbage(world);
  world.lists.clear();
  for (int i = 0; i < 2; ++i) sweep_chunks(world, world, silent);
  assert_true(world.chunks.empty() && world.written.empty());
  return count;
}

void no_order_of_steps_loses_or_leaves_a_chunk(void **) {
  std::vector<size_t> places;  // all of the first sweep, and some of the second
  for (size_t place = 0; place < 36; place += place < 14 ? 1 : 8) places.push_back(place);
  const size_t count = places.size();
  for (size_t death = 0; death < 12; ++death)
    for (size_t a = 0; a < count; ++a)
      for (size_t b = a; b < count; ++b)
        for (size_t c = b; c < count; ++c)
          for (size_t d = c; d < count; ++d)
            assert_true(play({places[a], places[b], places[c], places[d]}, death) <= 36);
}

// Where several sweep at once: names are given once.
class SharedWorld : public World {
 public:
  uint64_t generation = 0;  // of who is saving

  bool is_swept_alone() const override { return false; }
  ChunkName usable(ChunkName name, const std::set<ChunkName> &condemned) override {
    for (const ChunkName &one : chunks)
      if (one.digest == name.digest && !condemned.contains(one)) return one;
    name.generation = generation;
    return name;
  }
  void list(const std::function<void(const ChunkName &)> &each) override {
    before();
    const std::set<ChunkName> stored = chunks;
    const std::set<std::string> now = savers();
    for (const ChunkName &name : stored)
      if (!now.contains("saver-" + std::to_string(name.generation))) each(name);
  }
};

// Checkpoints are saved one after the other, and all but the last `kept` are removed at some time.
class Checkpoints {
 public:
  Checkpoints(SharedWorld &world, size_t kept) : world_(world), kept_(kept) {}

  static constexpr size_t count = 3;
  ChunkName last() const { return saved_.back(); }

  // False: there is nothing to do any more.
  bool step(bool wants_to_save) {
    const bool can_save = saving_ < 4 * count;
    const bool can_remove = removing_ < 3 * std::min(saved_.size(), count - kept_);
    if (!can_save && !can_remove) return false;
    if (can_save && (wants_to_save || !can_remove)) save(saving_++);
    else remove(removing_++);
    return true;
  }

 private:
  void save(size_t step) {
    const uint64_t generation = 1 + step / 4;
    const std::string saver = "saver-" + std::to_string(generation);
    switch (step % 4) {
      case 0:
        world_.saving.insert(saver);
        break;
      case 1:
        condemned_ = condemned_chunks(world_);
        break;
      case 2:
        world_.generation = generation;
        name_ = world_.usable(name_of_chunk("bytes"), condemned_);
        if (!world_.has(name_, 0)) world_.put(name_, "bytes", 0);
        break;
      default:
        saved_.push_back(name_);
        tell();
        world_.saving.erase(saver);
    }
  }

  void remove(size_t step) {
    if (step % 3 != 1) return note_garbage(world_);
    removed_ = step / 3 + 1;
    tell();
  }

  void tell() {
    world_.lists = {saved_.begin() + static_cast<std::ptrdiff_t>(removed_), saved_.end()};
  }

  SharedWorld &world_;
  const size_t kept_;
  std::set<ChunkName> condemned_;
  ChunkName name_;
  std::vector<ChunkName> saved_;  // one for each checkpoint
  size_t saving_ = 0, removing_ = 0, removed_ = 0;
};

// Up to four sweeps, each of which runs while the one before stands still.
void sweeps_at_once_lose_and_leave_no_chunk(void **) {
  std::mt19937 random(7);
  for (size_t round = 0; round < 40'000; ++round) {
    SharedWorld world;
    ChunkName old = name_of_chunk("bytes");
    old.generation = 100;
    world.chunks.insert(old);
    note_garbage(world);
    const size_t kept = round % 2;
    Checkpoints checkpoints(world, kept);
    size_t sweeps = 1;
    bool within = false;
    world.before = [&] {
      if (within) return;
      within = true;
      while (random() % 3 == 0 && checkpoints.step(random() % 2 == 0)) {
      }
      within = false;
      if (sweeps >= 4 || random() % 8 != 0) return;
      ++sweeps;
      sweep_chunks(world, world, silent);
    };
    sweep_chunks(world, world, silent);
    for (within = true; checkpoints.step(true);) {
    }
    for (int i = 0; i < 3; ++i)
      if (has_garbage(world)) sweep_chunks(world, world, silent);
    assert_false(has_garbage(world));
    if (kept > 0) {
      assert_true(world.chunks == std::set<ChunkName>{checkpoints.last()});
      note_garbage(world);
      world.lists.clear();
      for (int i = 0; i < 2; ++i) sweep_chunks(world, world, silent);
    }
    assert_true(world.chunks.empty() && world.written.empty());
  }
}

void a_sweep_that_dies_is_finished_by_the_next(void **) {
  for (size_t death = 0;; ++death) {
    World world;
    world.chunks.insert(name_of_chunk("bytes"));
    note_garbage(world);
    size_t operation = 0;
    world.before = [&] {
      if (operation++ == death) throw Killed();
    };
    try {
      sweep_chunks(world, world, silent);
      assert_true(death > 10);
      return;
    } catch (const Killed &) {
    }
    sweep_chunks(world, world, silent);
    assert_true(world.chunks.empty() && world.written.empty());
  }
}

}  // namespace

}  // namespace det::storage

int test_chunk_sweep() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      cmocka_unit_test(no_order_of_steps_loses_or_leaves_a_chunk),
      cmocka_unit_test(sweeps_at_once_lose_and_leave_no_chunk),
      cmocka_unit_test(a_sweep_that_dies_is_finished_by_the_next),
  };
  return cmocka_run_group_tests_name("sweeping chunks", tests, nullptr, nullptr);
}
