#include "core/engine/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/engine/copied_store.h"
#include "core/engine/sqlite/migrations.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

// SQLite on a network file system is as good as its fcntl(2) locks. Tried on a file of their own:
// closing a second descriptor of the store would drop this process's locks on it.
void require_locks(const fs::path &directory) {
  const fs::path path = directory / (".lock-test-" + make_uuid());
  const Fd file = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  const int result = fcntl(file.get(), F_SETLK, &range);
  const int reason = errno;
  unlink(path.c_str());
  if (result == 0) return;
  throw Error(Code::unsupported,
              "opening a store in '" + directory.string() +
                  "': this network file system refuses file locks (" + errno_text(reason) +
                  "), so several processes could damage the store; set DET_HOME to a local disk",
              reason);
}

// Tried for as long as others may take: SQLite itself does not wait here.
void use_journal(Database &database, const std::string &mode, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    try {
      Query query = database.query("PRAGMA journal_mode=" + mode);
      if (query.next() && query.view(0) == mode) return;
      break;
    } catch (const Error &e) {
      if (e.code != Code::busy || std::chrono::steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  throw Error(Code::unsupported, "opening the store '" + database.path().string() +
                                     "': its journal cannot be switched to " + mode +
                                     " here; set DET_HOME to a local disk");
}

// Makes the directory of a store, and the file in it.
void make_store(const fs::path &store_directory) {
  make_directories(store_directory.parent_path());
  make_directories(store_directory, 0700);
  // Private from its first moment; SQLite gives the files beside it the mode of this one.
  const fs::path path = store_path(store_directory);
  if (mknod(path.c_str(), S_IFREG | 0600, 0) != 0 && errno != EEXIST)
    OsFailure{errno}.raise("making '" + path.string() + "'");
}

}  // namespace

fs::path store_path(const fs::path &store_directory) { return store_directory / "store.db"; }

Database open_store(const fs::path &store_directory, bool create, const StoreOptions &options) {
  const fs::path path = store_path(store_directory);
  std::error_code failed;
  const bool absent = !fs::exists(path, failed);
  const std::string tried = "opening the store '" + store_directory.string() + "'";
  if (absent && failed && !create) OsFailure{failed.value()}.raise(tried);
  if (absent && !create)
    throw Error(Code::not_found, "no store at '" + store_directory.string() +
                                     "'; run a program that uses detcore once, or set DET_HOME");
  if (absent) {
    try {
      make_store(store_directory);
    } catch (const Error &error) {
      throw Error(error.code,
                  tried + ": " + error.what() + "; or set DET_HOME to a directory of yours",
                  error.os_errno);
    }
  }

  const bool remote = options.on_network(store_directory);
  if (remote) require_locks(store_directory);
  auto connection = std::make_unique<SqliteConnection>(
      path, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), options.busy_timeout);
  SqliteConnection &sqlite = *connection;
  Database database(std::move(connection));
  const bool outdated = is_outdated(database);
  // The index of a write-ahead log is shared memory, which other machines do not see.
  use_journal(database, remote ? "delete" : "wal", options.busy_timeout);
  if (remote) sqlite.set_always_durable();
  sqlite.check_references();
  if (outdated) migrate(database, sqlite);
  try {
    note_place(database);
  } catch (const Error &error) {
    // Nothing can be written now, and who only reads needs none of it: the next one notes it.
    if (error.code != Code::full && error.code != Code::access) throw;
  }
  return database;
}

Database open_other_store(const fs::path &store_directory) {
  constexpr std::chrono::seconds patience{1};
  return Database(std::make_unique<SqliteConnection>(store_path(store_directory),
                                                     SQLITE_OPEN_READONLY, patience));
}

std::string read_cluster_id(const fs::path &store_directory) {
  Database database = open_other_store(store_directory);
  Query id = database.query("SELECT value FROM meta WHERE key='cluster_id'");
  return id.next() ? id.text(0) : std::string();
}

}  // namespace det::engine
