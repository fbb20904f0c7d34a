#include "core/engine/sqlite/connection.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "core/base/error.h"
#include "core/engine/sqlite/locks.h"
#include "core/engine/sqlite/sqlite_dialect.h"
#include "core/engine/sqlite/statement.h"

namespace det::engine {

namespace {

// Whether it says something of the system, and nothing of the file.
bool is_shortage(int os_errno) {
  return os_errno == EMFILE || os_errno == ENFILE || os_errno == ENOMEM || os_errno == EIO ||
         os_errno == ENOSPC || os_errno == EDQUOT || os_errno == ESTALE;
}

// `os_errno`: what the system said last, where it was asked.
Code code_of(int result, int os_errno) {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Code::busy;
    case SQLITE_FULL:
      return Code::full;
    case SQLITE_CANTOPEN:
      if (is_shortage(os_errno)) return OsFailure{os_errno}.code();
      [[fallthrough]];
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Code::access;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::corrupt;
    case SQLITE_IOERR:
      if (result == SQLITE_IOERR_NOMEM) return Code::no_memory;
      return os_errno == ENOSPC || os_errno == EDQUOT ? Code::full : Code::io;
    case SQLITE_NOMEM:
      return Code::no_memory;
    default:
      return Code::internal;
  }
}

std::string remedy(int result, Code code, int os_errno) {
  if (result == SQLITE_PROTOCOL)
    return "; the system does not take and give back locks on it as it should; try again, and set "
           "DET_HOME to a local disk if it stays so";
  switch (code) {
    case Code::busy:
      return ": the store is locked by another process; try again when it is done";
    case Code::full:
      return "; free some space";
    case Code::access:
      return "; check that its directory exists and can be written, or set DET_HOME";
    case Code::corrupt:
      return "; move the file away, or set DET_HOME to another directory";
    case Code::io:
      return os_errno != 0 ? OsFailure{os_errno}.remedy() : "";
    default:
      return "";
  }
}

}  // namespace

void CloseDatabase::operator()(sqlite3 *handle) const { sqlite3_close_v2(handle); }

SqliteConnection::SqliteConnection(const std::filesystem::path &path, int flags,
                                   std::chrono::milliseconds busy_timeout)
    : path_(path),
      flags_(flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE),
      patience_(std::make_unique<Patience>(Patience{busy_timeout, {}})) {
  connect();
  struct stat about {};
  if (stat(path_.c_str(), &about) != 0)
    OsFailure{errno}.raise("looking at the store '" + path_.string() + "'");
  file_ = {about.st_dev, about.st_ino};
  flags_ &= ~SQLITE_OPEN_CREATE;
}

SqliteConnection::~SqliteConnection() = default;

void SqliteConnection::connect() {
  // Of a file that it cannot make or write, SQLite tells what came of reading it instead.
  if ((flags_ & SQLITE_OPEN_CREATE) != 0 && mknod(path_.c_str(), S_IFREG | 0644, 0) != 0 &&
      errno != EEXIST)
    OsFailure{errno}.raise("making the store '" + path_.string() + "'");
  sqlite3 *handle = nullptr;
  const int result = sqlite3_open_v2(path_.c_str(), &handle, flags_, nullptr);
  handle_.reset(handle);
  if (result != SQLITE_OK) throw_error(result, "open");
  if ((flags_ & SQLITE_OPEN_READWRITE) != 0 && sqlite3_db_readonly(handle, "main") == 1 &&
      access(path_.c_str(), W_OK) == 0)
    throw Error(Code::io, "using the store '" + path_.string() +
                              "': it could be opened for reading only, though it may be written; "
                              "try again");
  ++connections_;
  durable_.reset();
  // The last one to close would copy the write-ahead log into the database and sync it twice.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, checks_references_ ? 1 : 0, nullptr);
  sqlite3_busy_handler(handle, wait_for_others, patience_.get());
  insist_on_unlocking(handle);
}

// Gone before the next one is there, which would share its locks. What a query still has of it goes
// with that query.
void SqliteConnection::disconnect() {
  if (handle_ && sqlite3_get_autocommit(handle_.get()) == 0) return;  // the transaction goes first
  for (auto &[sql, statement] : statements_) statement.reset();
  handle_.reset();
}

void SqliteConnection::reconnect_if_lost() {
  if (!lost_) return;
  disconnect();
  if (handle_) return;
  require_in_place();
  connect();
  lost_ = false;
}

void SqliteConnection::require_in_place() const {
  struct stat about {};
  const bool found = stat(path_.c_str(), &about) == 0;
  if (!found && errno != ENOENT && errno != ENOTDIR) return;  // it cannot be told now
  if (found && file_ == FileIdentity{about.st_dev, about.st_ino}) return;
  throw Error(Code::io,
              "using the store '" + path_.string() + "': it was " +
                  (found ? "replaced by another" : "deleted or moved away") +
                  " while this program used it; start the program again",
              ESTALE);
}

// SQLite's own waits grow to a tenth of a second: among several busy writers one that sleeps so
// long may never find the store free.
int SqliteConnection::wait_for_others(void *patience, int attempt) {
  auto &mine = *static_cast<Patience *>(patience);
  const auto now = std::chrono::steady_clock::now();
  if (attempt == 0) mine.deadline = now + mine.limit;
  if (now >= mine.deadline) return 0;
  constexpr int longest_ms = 8;
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(attempt + 1, longest_ms)));
  return 1;
}

void SqliteConnection::throw_error(int result, std::string_view sql) {
  const int primary = result & 0xff;
  lost_ = lost_ || primary == SQLITE_IOERR || primary == SQLITE_PROTOCOL;
  // Of errors of other kinds it would be what some earlier one has left.
  const bool by_system = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN ||
                         primary == SQLITE_FULL || primary == SQLITE_READONLY;
  const int os_errno = handle_ && by_system ? sqlite3_system_errno(handle_.get()) : 0;
  const Code code = code_of(result, os_errno);
  std::string message = "using the store '" + path_.string() + "'";
  if (code == Code::busy && primary != SQLITE_PROTOCOL) {
    message += remedy(result, code, os_errno);
  } else {
    message += ": ";
    message += handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(result);
    // The one reason that SQLite has no words for.
    if (os_errno != 0) message += std::string(" (") + errno_text(os_errno) + ")";
    message += remedy(result, code, os_errno);
  }
  // For whoever mends this program: nobody else can do anything about the statement.
  if (code == Code::internal) {
    message += "; this is a mistake in detcore, please report it [" +
               std::string(sql.substr(0, 200)) + "]";
    std::ranges::replace(message, '\n', ' ');
  }
  if (lost_) disconnect();
  throw Error(code, message, os_errno);
}

void SqliteConnection::run_script(const char *sql) {
  const int result = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) throw_error(result, sql);
}

int64_t SqliteConnection::data_version() {
  Query version(*this, "PRAGMA data_version");
  version.next();
  return connections_ * (int64_t{1} << 32U) + version.integer(0);
}

int64_t SqliteConnection::last_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
int64_t SqliteConnection::changes() const { return sqlite3_changes(handle_.get()); }

void SqliteConnection::set_durable(bool durable) {
  if (always_durable_) durable = true;
  if (durable_ == durable) return;
  execute(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  durable_ = durable;
}

void SqliteConnection::check_references() {
  checks_references_ = true;
  execute("PRAGMA foreign_keys=ON");
}

void SqliteConnection::set_always_durable() {
  always_durable_ = true;
  set_durable(true);
}

const Dialect &SqliteConnection::dialect() const { return sqlite_dialect; }

std::unique_ptr<Statement> SqliteConnection::take(std::string_view sql) {
  reconnect_if_lost();
  auto found = statements_.find(sql);
  if (found == statements_.end()) found = statements_.emplace(sql, nullptr).first;
  std::unique_ptr<Statement> &place = found->second;
  if (place) return std::move(place);
  return std::make_unique<SqliteStatement>(*this, sql, &place);
}

void SqliteConnection::give_back(std::unique_ptr<Statement> statement) {
  auto &ours = static_cast<SqliteStatement &>(*statement);
  ours.reset();
  if (ours.is_of(handle_.get()) && !*ours.place()) *ours.place() = std::move(statement);
}

void SqliteConnection::begin(Durability durability) {
  require_in_place();
  reconnect_if_lost();
  set_durable(durability == Durability::durable);
  try {
    execute("BEGIN IMMEDIATE");
  } catch (...) {
    roll_back();  // without memory it may have begun all the same
    throw;
  }
}

void SqliteConnection::commit() { execute("COMMIT"); }

void SqliteConnection::roll_back() noexcept {
  if (!handle_) return;
  // Some errors have rolled back by themselves; then this one fails, and that is right.
  sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  if (sqlite3_get_autocommit(handle_.get()) != 0) return;
  // Without memory; the transaction goes with its connection.
  lost_ = true;
  for (auto &[sql, statement] : statements_) statement.reset();
  handle_.reset();
}

void SqliteConnection::execute(std::string_view sql) {
  Query query(*this, sql);
  while (query.next()) {
  }
}

}  // namespace det::engine
