#include "core/engine/sqlite/statement.h"

#include <sqlite3.h>

namespace det::engine {

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

}  // namespace det::engine
