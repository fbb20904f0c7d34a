#include "core/engine/sqlite/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "core/base/error.h"
#include "core/engine/sqlite/locks.h"

namespace det {

namespace {

// Whether it says something of the system, and nothing of the file.
bool is_shortage(int os_errno) {
  return os_errno == EMFILE || os_errno == ENFILE || os_errno == ENOMEM || os_errno == EIO ||
         os_errno == ENOSPC || os_errno == EDQUOT;
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
void FinalizeStatement::operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }

Database::Database(const std::filesystem::path &path, int flags,
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

void Database::connect() {
  sqlite3 *handle = nullptr;
  const int result = sqlite3_open_v2(path_.c_str(), &handle, flags_, nullptr);
  handle_.reset(handle);
  if (result != SQLITE_OK) throw_error(result, "open");
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
void Database::disconnect() {
  if (handle_ && sqlite3_get_autocommit(handle_.get()) == 0) return;  // the transaction goes first
  for (auto &[sql, statement] : statements_) statement.reset();
  handle_.reset();
}

void Database::reconnect_if_lost() {
  if (!lost_) return;
  disconnect();
  if (handle_) return;
  require_in_place();
  connect();
  lost_ = false;
}

void Database::require_in_place() const {
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
int Database::wait_for_others(void *patience, int attempt) {
  auto &mine = *static_cast<Patience *>(patience);
  const auto now = std::chrono::steady_clock::now();
  if (attempt == 0) mine.deadline = now + mine.limit;
  if (now >= mine.deadline) return 0;
  constexpr int longest_ms = 8;
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(attempt + 1, longest_ms)));
  return 1;
}

void Database::throw_error(int result, std::string_view sql) {
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
  message += " [" + std::string(sql.substr(0, 200)) + "]";
  for (char &c : message)
    if (c == '\n') c = ' ';
  if (lost_) disconnect();
  throw Error(code, message, os_errno);
}

void Database::run_script(const char *sql) {
  const int result = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) throw_error(result, sql);
}

int64_t Database::pragma(const char *name) {
  Query query = this->query(std::string("PRAGMA ") + name);
  return query.next() ? query.integer(0) : 0;
}

int64_t Database::data_version() {
  const int64_t version = pragma("data_version");
  return connections_ * (int64_t{1} << 32U) + version;
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
int64_t Database::changes() const { return sqlite3_changes64(handle_.get()); }

void Database::set_durable(bool durable) {
  if (always_durable_) durable = true;
  if (durable_ == durable) return;
  run(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  durable_ = durable;
}

void Database::check_references() {
  checks_references_ = true;
  run("PRAGMA foreign_keys=ON");
}

void Database::set_always_durable() {
  always_durable_ = true;
  set_durable(true);
}

StatementPtr &Database::place_of(std::string_view sql) {
  reconnect_if_lost();
  if (const auto found = statements_.find(sql); found != statements_.end()) return found->second;
  return statements_.emplace(sql, nullptr).first->second;
}

Query::Query(Database &database, std::string_view sql)
    : database_(&database), place_(&database.place_of(sql)), statement_(std::move(*place_)) {
  if (statement_) return;
  sqlite3_stmt *statement = nullptr;
  const int result =
      sqlite3_prepare_v3(database.handle_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) database.throw_error(result, sql);
  statement_.reset(statement);
}

Query::~Query() {
  if (!statement_) return;
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  const bool is_current = sqlite3_db_handle(statement_.get()) == database_->handle_.get();
  if (is_current && !*place_) *place_ = std::move(statement_);
}

bool Query::next() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  database_->throw_error(result, sqlite3_sql(statement_.get()));
}

void Query::check(int result) const {
  if (result != SQLITE_OK) database_->throw_error(result, sqlite3_sql(statement_.get()));
}

void Query::bind_value(int index, int64_t value, bool) {
  check(sqlite3_bind_int64(statement_.get(), index, value));
}
void Query::bind_value(int index, uint64_t value, bool in_place) {
  bind_value(index, static_cast<int64_t>(value), in_place);
}
void Query::bind_value(int index, int value, bool in_place) {
  bind_value(index, static_cast<int64_t>(value), in_place);
}
void Query::bind_value(int index, bool value, bool in_place) {
  bind_value(index, static_cast<int64_t>(value), in_place);
}
void Query::bind_value(int index, double value, bool) {
  check(sqlite3_bind_double(statement_.get(), index, value));
}
void Query::bind_value(int index, std::string_view value, bool in_place) {
  // An empty view may have no address, which SQLite would take for NULL.
  check(sqlite3_bind_text64(statement_.get(), index, value.empty() ? "" : value.data(),
                            value.size(), in_place ? SQLITE_STATIC : SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}
void Query::bind_value(int index, std::nullptr_t, bool) {
  check(sqlite3_bind_null(statement_.get(), index));
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Query::number(int column) const { return sqlite3_column_double(statement_.get(), column); }
std::string_view Query::view(int column) const {
  const auto *text = reinterpret_cast<const char *>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}
std::optional<int64_t> Query::maybe_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}
std::optional<std::string> Query::maybe_text(int column) const {
  if (is_null(column)) return std::nullopt;
  return text(column);
}

Transaction::Transaction(Database &database, Durability durability) : database_(database) {
  database.require_in_place();
  database.reconnect_if_lost();
  database.set_durable(durability == Durability::durable);
  database.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  // Some errors have rolled back by themselves; then this one fails, and that is right.
  sqlite3_exec(database_.handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace det
