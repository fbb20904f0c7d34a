#include "core/engine/sqlite/connection.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <thread>

#include "core/base/error.h"

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

// The locks that the connections of this process share in the index of the write-ahead log.
constexpr int most_unlock_attempts = 200;
constexpr std::chrono::milliseconds between_unlock_attempts{5};

// What SQLite does with a file of this system, of which there is one implementation.
std::atomic<const sqlite3_io_methods *> methods_of_system{nullptr};

int lock_index(sqlite3_file *file, int first, int count, int flags) {
  const auto ask = [&] { return methods_of_system.load()->xShmLock(file, first, count, flags); };
  int result = ask();
  if ((flags & SQLITE_SHM_UNLOCK) == 0) return result;
  for (int attempt = 1; result != SQLITE_OK && attempt < most_unlock_attempts; ++attempt) {
    std::this_thread::sleep_for(between_unlock_attempts);
    result = ask();
  }
  return result;
}

const sqlite3_io_methods *insisting(const sqlite3_io_methods *methods) {
  static const sqlite3_io_methods ours = [&] {
    methods_of_system = methods;
    sqlite3_io_methods changed = *methods;
    changed.xShmLock = lock_index;
    return changed;
  }();
  return methods_of_system.load() == methods ? &ours : methods;
}

// Where the system fails to take back such a lock, SQLite goes on as if it had, and the lock keeps
// all processes from the store until the last connection of this one is closed. From now on it is
// given back again until the system takes it, for a while.
void insist_on_unlocking(sqlite3 *connection) {
  sqlite3_file *file = nullptr;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
      file == nullptr || file->pMethods == nullptr || file->pMethods->iVersion < 2)
    return;
  file->pMethods = insisting(file->pMethods);
}

const Dialect sqlite_dialect{
    .searcher_name = "json_quote(json_extract(config, '$.searcher.name'))",
    .searcher_metric_name = "json_quote(json_extract(config, '$.searcher.metric'))",
    .has_name = "(?2='' OR name GLOB ?2)",
    .has_tag = "(?3='' OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value=?3))",
    .is_metrics_json = "json_valid(metrics)",
    .is_batches_json = "json_valid(batches)",
    .metrics_by_trial = " INDEXED BY metrics_by_trial",
    .metric_names =
        "SELECT metric_group, name FROM (SELECT 0 AS age, metrics.id AS place, metric_group,"
        " key AS name FROM metrics INDEXED BY metrics_by_trial,"
        " json_each(CASE WHEN json_valid(metrics.metrics) THEN metrics.metrics ELSE '{}' END)"
        " WHERE trial_id=?1 AND archived=0 AND metrics.id<="
        " (SELECT CAST(value AS INTEGER) FROM meta WHERE key='last_unnamed_metric')"
        " UNION ALL SELECT 1, id, metric_group, name FROM metric_names WHERE trial_id=?1)"
        " GROUP BY metric_group, name ORDER BY MIN(age), MIN(place)",
    // Texts come behind numbers and blobs behind both, and NaN is NULL.
    .keep_best_validation =
        "UPDATE trials SET best_validation=?1, best_metric=?2, best_order=order_of"
        " FROM (SELECT CASE WHEN ?2 IS NULL THEN x'' ELSE IFNULL(?3, 'NaN') END AS order_of)"
        " WHERE id=?4 AND (best_validation IS NULL OR best_order>order_of)",
    .forget_best_validation =
        "UPDATE trials SET best_validation=NULL, best_metric=NULL, best_order=x'' WHERE id=?",
};

}  // namespace

class SqliteStatement : public Statement {
 public:
  // `place`: where the connection keeps it between executions.
  SqliteStatement(SqliteConnection &connection, std::string_view sql,
                  std::unique_ptr<Statement> *place);

  void bind_integer(int index, int64_t value) override;
  void bind_number(int index, double value) override;
  void bind_text(int index, std::string_view value, bool in_place) override;
  void bind_null(int index) override;
  bool next() override;
  bool is_null(int column) const override;
  int64_t integer(int column) const override;
  double number(int column) const override;
  std::string_view text(int column) const override;

  // As before its first execution.
  void reset();
  bool is_of(const sqlite3 *handle) const;
  std::unique_ptr<Statement> *place() const { return place_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt *statement) const;
  };
  void check(int result) const;

  SqliteConnection &connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::unique_ptr<Statement> *place_;
};

void SqliteStatement::Finalize::operator()(sqlite3_stmt *statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement::SqliteStatement(SqliteConnection &connection, std::string_view sql,
                                 std::unique_ptr<Statement> *place)
    : connection_(connection), place_(place) {
  sqlite3_stmt *statement = nullptr;
  const int result =
      sqlite3_prepare_v3(connection.handle_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) connection.throw_error(result, sql);
  statement_.reset(statement);
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

bool SqliteStatement::is_of(const sqlite3 *handle) const {
  return sqlite3_db_handle(statement_.get()) == handle;
}

bool SqliteStatement::next() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  connection_.throw_error(result, sqlite3_sql(statement_.get()));
}

void SqliteStatement::check(int result) const {
  if (result != SQLITE_OK) connection_.throw_error(result, sqlite3_sql(statement_.get()));
}

void SqliteStatement::bind_integer(int index, int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), index, value));
}
void SqliteStatement::bind_number(int index, double value) {
  check(sqlite3_bind_double(statement_.get(), index, value));
}
void SqliteStatement::bind_text(int index, std::string_view value, bool in_place) {
  // An empty view may have no address, which SQLite would take for NULL.
  check(sqlite3_bind_text64(statement_.get(), index, value.empty() ? "" : value.data(),
                            value.size(), in_place ? SQLITE_STATIC : SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}
void SqliteStatement::bind_null(int index) { check(sqlite3_bind_null(statement_.get(), index)); }

bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double SqliteStatement::number(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}
std::string_view SqliteStatement::text(int column) const {
  const auto *text = reinterpret_cast<const char *>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

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

SqliteConnection::~SqliteConnection() {
  if (handle_) shorten_log();
}

// Whoever opens the store when nobody else has it open reads the whole log. So the last one to
// close copies a long one into the database, and makes it empty. Those who may only read need the
// file.
void SqliteConnection::shorten_log() noexcept try {
  constexpr off_t most_left = 1 << 20;  // some 15 runs
  struct stat about {};
  if (stat((path_.native() + "-wal").c_str(), &about) != 0 || about.st_size <= most_left) return;
  int keep_file = 1;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_PERSIST_WAL, &keep_file);
  sqlite3_exec(handle_.get(), "PRAGMA journal_size_limit=0", nullptr, nullptr, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
} catch (const std::bad_alloc &) {
  return;  // it stays long
}

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
  // The last one to close would copy the write-ahead log into the database and sync it twice: see
  // shorten_log().
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

void SqliteConnection::begin_reading() { execute("BEGIN"); }

void SqliteConnection::end_reading() noexcept {
  try {
    commit();
  } catch (...) {
    roll_back();  // without memory; nothing was written
  }
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
