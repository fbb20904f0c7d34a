// Trees that are odd in one way each, saved and loaded in every way: what comes back is the same
// from all storages, and what is refused is refused with the same words.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "core/storage/tree.h"
#include "tests/context/job.h"
#include "tests/storage/chunk_files.h"

namespace det::test {

struct OddTree {
  const char *name;
  // In an empty directory; another one, elsewhere, has a file "file".
  void (*make)(const fs::path &at, const fs::path &elsewhere);
  std::string refused{};          // why it is not uploaded; empty: it comes back
  std::string refused_written{};  // why it is no checkpoint that a program has written
};

namespace odd {

inline void write(const fs::path &path, const std::string &text = "text") {
  fs::create_directories(path.parent_path());
  write_all(open_file(path, O_WRONLY | O_CREAT | O_TRUNC).get(), text, path.string());
}

inline void set_mode(const fs::path &path, mode_t mode) {
  assert_int_equal(chmod(path.c_str(), mode), 0);
}

inline void write_sparse(const fs::path &path, off_t size) {
  write(path, "head");
  const Fd fd = open_file(path, O_WRONLY);
  assert_int_equal(ftruncate(fd.get(), size), 0);
  assert_int_equal(pwrite(fd.get(), "middle", 6, size / 2), 6);
}

// Whose path may be longer than any that the kernel takes.
inline void go_down(const fs::path &root, int levels, size_t length) {
  const std::string name(length, 'd');
  Fd at = open_file(root, O_RDONLY | O_DIRECTORY);
  for (int level = 0; level < levels; ++level) {
    assert_int_equal(mkdirat(at.get(), name.c_str(), 0755), 0);
    at = Fd(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    assert_true(static_cast<bool>(at));
  }
  assert_true(
      static_cast<bool>(Fd(openat(at.get(), "leaf", O_WRONLY | O_CREAT | O_CLOEXEC, 0644))));
}

inline const std::vector<OddTree> &trees() {
  static const std::string leads_out =
      "following the link 'odd': it leads out of the checkpoint; put what it names in its place";
  static const std::string dangling =
      "following the link 'odd': No such file or directory; check that the path exists";
  static const std::string endless = "following the link 'odd': Too many levels of symbolic links";
  static const std::string leads_back =
      "walking 'odd/': the link leads back to its own directory; remove the link";
  static const std::string special =
      "storing 'odd': neither a file nor a directory (a pipe, socket or device); take it out of "
      "the "
      "directory";
  static const std::string reserved =
      "storing '.detcore-manifest.json': this name is reserved; give your file another name";
  static const std::string deep =
      "storing 'dddddddddddddddddddddddddddddddd...': its path has more than 4095 bytes; put it "
      "into fewer directories";
  static const std::vector<OddTree> all{
      {"nothing", [](const fs::path &, const fs::path &) {}},
      {"an empty file", [](const fs::path &at, const fs::path &) { write(at / "odd", ""); }},
      {"empty directories",
       [](const fs::path &at, const fs::path &) { fs::create_directories(at / "odd/inner"); }},
      {"a link to a file",
       [](const fs::path &at, const fs::path &) {
         write(at / "real");
         fs::create_symlink("real", at / "odd");
       }},
      {"a link to a directory",
       [](const fs::path &at, const fs::path &) {
         write(at / "real/inner/file", storage::random_bytes(100'000, 1));
         fs::create_directory(at / "real/empty");
         fs::create_symlink("real", at / "odd");
       }},
      {"a link to a link to a directory",
       [](const fs::path &at, const fs::path &) {
         write(at / "real/file");
         fs::create_directory(at / "sub");
         fs::create_symlink("../real", at / "sub/odd");
         fs::create_symlink("sub/odd", at / "odd");
       }},
      {"two names of a file",
       [](const fs::path &at, const fs::path &) {
         write(at / "real");
         fs::create_hard_link(at / "real", at / "odd");
       }},
      {"a link out to a file",
       [](const fs::path &at, const fs::path &elsewhere) {
         fs::create_symlink(elsewhere / "file", at / "odd");
       },
       "", leads_out},
      {"a link out to a directory",
       [](const fs::path &at, const fs::path &elsewhere) {
         fs::create_symlink(elsewhere, at / "odd");
       },
       "", leads_out},
      {"a link to nothing",
       [](const fs::path &at, const fs::path &) { fs::create_symlink("absent", at / "odd"); },
       dangling, dangling},
      {"a link to itself",
       [](const fs::path &at, const fs::path &) { fs::create_symlink("odd", at / "odd"); }, endless,
       endless},
      {"a link to where it lies",
       [](const fs::path &at, const fs::path &) { fs::create_symlink(".", at / "odd"); },
       leads_back, leads_back},
      {"a link to a pipe",
       [](const fs::path &at, const fs::path &) {
         assert_int_equal(mkfifo((at / "odd").c_str(), 0600), 0);
       },
       special, special},
      {"sparse files",
       [](const fs::path &at, const fs::path &) {
         write_sparse(at / "small", 50'000);
         write_sparse(at / "odd", off_t{3} << 20);
       }},
      {"a file of zeros",
       [](const fs::path &at, const fs::path &) { write(at / "odd", std::string(300'000, '\0')); }},
      {"modes",
       [](const fs::path &at, const fs::path &) {
         for (const mode_t mode : {0755, 0600, 0444, 0640}) {
           write(at / std::to_string(mode));
           write(at / ("large" + std::to_string(mode)), storage::random_bytes(100'000, mode));
           set_mode(at / std::to_string(mode), mode);
           set_mode(at / ("large" + std::to_string(mode)), mode);
         }
         write(at / "private/file");
         write(at / "fixed/file");
         fs::create_directory(at / "empty");
         set_mode(at / "private", 0700);
         set_mode(at / "fixed", 0555);
         set_mode(at / "empty", 0750);
       }},
      {"names of ours that are not in the root",
       [](const fs::path &at, const fs::path &) {
         for (const char *name : {"metadata.json", storage::manifest_name, storage::shares_name,
                                  storage::chunks_directory})
           write(at / "odd" / name);
       }},
      {"the manifest's name",
       [](const fs::path &at, const fs::path &) { write(at / storage::manifest_name, "mine"); },
       reserved, reserved},
      {"names with blanks and marks",
       [](const fs::path &at, const fs::path &) {
         for (const char *name : {" ", "-rf", "100%", "a+b&c", "\xc3\xa9t\xc3\xa9", "quote\"'"})
           write(at / name, name);
       }},
      {"60 levels", [](const fs::path &at, const fs::path &) { go_down(at, 60, 1); }},
      {"a path of 4,200 bytes", [](const fs::path &at, const fs::path &) { go_down(at, 21, 200); },
       deep, deep},
  };
  return all;
}

// Everything below a directory, whatever it is reached by, without what is ours.
inline void look(const fs::path &directory, const std::string &below,
                 std::map<std::string, std::string> &seen) {
  for (const auto &entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string(), path = below + name;
    if (below.empty() && (name.starts_with(".detcore-") || name == storage::metadata_name))
      continue;
    struct stat about {};
    assert_int_equal(stat(entry.path().c_str(), &about), 0);
    std::string &said = seen[path];
    said = "mode " + std::to_string(about.st_mode & 07777);
    if (S_ISDIR(about.st_mode)) {
      look(entry.path(), path + "/", seen);
      continue;
    }
    said += ", time " + std::to_string(storage::FileStamp::of(about).mtime_ns) + ", " +
            std::to_string(about.st_size) + " bytes of " +
            std::to_string(storage::checksums_of(directory, {name}).at(name)) +
            (about.st_blocks * 512 < about.st_size / 2 ? ", sparse" : "");
  }
}

inline std::map<std::string, std::string> look(const fs::path &directory) {
  std::map<std::string, std::string> seen;
  look(directory, "", seen);
  return seen;
}

// What differs between storages are the directories in front of a name, and the umask.
inline std::string words(const std::exception &error) {
  static const std::regex quoted("'/([^']*/)?([^/']+/?)'");
  return std::regex_replace(error.what(), quoted, "'$2'");
}

struct Way {
  const char *name;
  bool uploads, asynchronous, staged;
  bool differs;  // from the others in what a server sees
};

inline constexpr Way ways[] = {
    {"upload", true, false, false, true},
    {"upload_async", true, true, false, false},
    {"store_path", false, false, false, true},
    {"store_async", false, true, false, false},
    {"staged upload", true, true, true, true},
    {"staged store_path", false, false, true, false},
    {"staged store_async", false, true, true, false},
};

// Gives the id, and what was saved.
inline std::string save(const Job &job, Rank &rank, const OddTree &tree, const Way &way,
                        std::map<std::string, std::string> &saved) {
  const fs::path elsewhere = job.path("elsewhere");
  write(elsewhere / "file");
  if (way.uploads) {
    const fs::path source = job.path("source");
    fs::create_directories(source);
    tree.make(source, elsewhere);
    if (tree.refused.empty()) saved = look(source);
    if (!way.asynchronous) return rank.checkpoints.saver().upload(source, steps, false, nullptr);
    const auto ticket = rank.checkpoints.saver().upload_async(source, steps, false, nullptr);
    storage::remove_tree(source);
    rank.checkpoints.background().wait(*ticket, std::nullopt);
    return ticket->id();
  }
  const auto store = rank.checkpoints.saver().begin(steps, false);
  tree.make(store->path(), elsewhere);
  if (tree.refused_written.empty()) saved = look(store->path());
  if (way.asynchronous) rank.checkpoints.background().wait(*store->commit_async(), std::nullopt);
  else store->commit();
  return store->id();
}

inline void check_load(const Job &job, Rank &rank, const std::string &id,
                       const std::map<std::string, std::string> &saved, const std::string &what) {
  const auto compare = [&](const fs::path &directory, const std::string &how) {
    const auto loaded = look(directory);
    for (const auto &[path, said] : saved)
      if (!loaded.contains(path) || loaded.at(path) != said)
        throw std::runtime_error(what + ", " + how + ": '" + path + "' was " + said + ", and is " +
                                 (loaded.contains(path) ? loaded.at(path) : "missing"));
    for (const auto &[path, said] : loaded)
      if (!saved.contains(path))
        throw std::runtime_error(what + ", " + how + ": '" + path + "' is new");
  };
  const fs::path target = job.path("target");
  rank.checkpoints.restorer().download(id, target, {});
  compare(target, "downloaded");
  storage::remove_tree(target);
  rank.checkpoints.restorer().download(id, target,
                                       {.selector = [](const std::string &) { return true; }});
  compare(target, "downloaded by a selector");
  storage::remove_tree(target);
  compare(rank.checkpoints.restorer().restore(id, {})->path(), "restored");
}

inline void check(const Job &job, Rank &rank, const OddTree &tree, const Way &way) {
  const std::string what = std::string(tree.name) + " by " + way.name;
  const std::string &refused = way.uploads ? tree.refused : tree.refused_written;
  std::map<std::string, std::string> saved;
  std::string said, id;
  try {
    id = save(job, rank, tree, way, saved);
  } catch (const std::exception &error) {
    said = words(error);
  }
  storage::remove_tree(job.path("source"));
  if (said != refused)
    throw std::runtime_error(what + ": '" + said + "' and not '" + refused + "'");
  if (!id.empty()) {
    check_load(job, rank, id, saved, what);
    rank.checkpoints.remove(id);
  }
}

}  // namespace odd

// Into whatever `job` opens. `briefly`: a server that takes its time is asked for less.
inline void odd_trees_come_back_or_are_refused(Job &job, bool briefly = false) {
  std::string failed;
  const auto thrown = job.run([&](Rank &rank) {
    for (const bool staged : {false, true}) {
      if (staged) rank.checkpoints.background().stage_in(job.path("staged"), uint64_t{1} << 30);
      for (const OddTree &tree : odd::trees())
        for (const odd::Way &way : odd::ways) try {
            if (way.staged == staged && (way.differs || !briefly)) odd::check(job, rank, tree, way);
          } catch (const std::exception &error) {
            failed += std::string(error.what()) + "\n";
          }
    }
  });
  if (!failed.empty()) print_error("%s", failed.c_str());
  assert_true(failed.empty());
  assert_no_failure(thrown);
}

}  // namespace det::test
