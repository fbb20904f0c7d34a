// SQLite with owners for what it hands out and Error for what goes wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

struct sqlite3;
struct sqlite3_stmt;

namespace det {

struct CloseDatabase {
  void operator()(sqlite3 *handle) const;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt *statement) const;
};
using StatementPtr = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

class Database;

// A statement with its values, giving one row after the other. Its compiled form goes back to its
// place in the database for the next use.
class Query {
 public:
  Query(Database &database, std::string_view sql);
  Query(Query &&) = default;
  ~Query();

  // `in_place`: texts are not copied and must outlive the query.
  template <class... Values>
  void bind([[maybe_unused]] bool in_place, const Values &...values) {
    int index = 0;
    (bind_value(++index, values, in_place), ...);
  }

  bool next();  // false: no row is left

  bool is_null(int column) const;
  int64_t integer(int column) const;
  double number(int column) const;
  std::string_view view(int column) const;  // until next()
  std::string text(int column) const { return std::string(view(column)); }
  std::optional<int64_t> maybe_integer(int column) const;
  std::optional<std::string> maybe_text(int column) const;

 private:
  void bind_value(int index, int64_t value, bool in_place);
  void bind_value(int index, uint64_t value, bool in_place);
  void bind_value(int index, int value, bool in_place);
  void bind_value(int index, bool value, bool in_place);
  void bind_value(int index, double value, bool in_place);
  void bind_value(int index, std::string_view value, bool in_place);
  void bind_value(int index, const std::string &value, bool in_place) {
    bind_value(index, std::string_view(value), in_place);
  }
  void bind_value(int index, const char *value, bool in_place) {
    bind_value(index, std::string_view(value), in_place);
  }
  void bind_value(int index, std::nullptr_t, bool in_place);
  template <class Value>
  void bind_value(int index, const std::optional<Value> &value, bool in_place) {
    if (value) bind_value(index, *value, in_place);
    else bind_value(index, nullptr, in_place);
  }
  void check(int result) const;

  Database *database_;
  StatementPtr *place_;
  StatementPtr statement_;
};

// One connection. Used by one thread at a time and never across fork(). After an error of the
// system it is opened anew for the next query: SQLite may have lost count of the locks it holds,
// and would answer "locking protocol" for ever.
class Database {
 public:
  // `flags` as sqlite3_open_v2() has them.
  Database(const std::filesystem::path &path, int flags, std::chrono::milliseconds busy_timeout);

  // A query whose rows the caller reads.
  template <class... Values>
  Query query(std::string_view sql, const Values &...values) {
    Query query(*this, sql);
    query.bind(false, values...);
    return query;
  }

  // A statement done for its effect.
  template <class... Values>
  void run(std::string_view sql, const Values &...values) {
    Query query(*this, sql);
    query.bind(true, values...);
    while (query.next()) {
    }
  }

  // Several statements, from a text of our own.
  void run_script(const char *sql);

  int64_t pragma(const char *name);
  // Differs from what it was before when another connection has written meanwhile.
  int64_t data_version();
  int64_t last_id() const;
  int64_t changes() const;  // rows the last statement touched

  const std::filesystem::path &path() const { return path_; }
  // A lost power supply must not undo the transactions that follow.
  void set_durable(bool durable);
  // A row that another one refers to must be there.
  void check_references();
  // Every transaction is durable from now on, whatever it asks for.
  void set_always_durable();

 private:
  friend class Query;
  friend class Transaction;
  // Of a file, which may be another one under the same name the next time.
  struct FileIdentity {
    uint64_t device = 0, inode = 0;
    bool operator==(const FileIdentity &) const = default;
  };

  void connect();
  void disconnect();
  void reconnect_if_lost();
  // Throws Code::io, with ESTALE, where it is not the file any more that was opened.
  void require_in_place() const;
  StatementPtr &place_of(std::string_view sql);
  [[noreturn]] void throw_error(int result, std::string_view sql);

  // How long it waits for others; SQLite holds on to it.
  struct Patience {
    std::chrono::milliseconds limit;
    std::chrono::steady_clock::time_point deadline;
  };
  static int wait_for_others(void *patience, int attempt);

  std::filesystem::path path_;
  int flags_;
  std::unique_ptr<Patience> patience_;
  std::unique_ptr<sqlite3, CloseDatabase> handle_;
  FileIdentity file_;
  int64_t connections_ = 0;  // how often it was opened
  bool lost_ = false;
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // By their texts; empty while a query has them.
  std::unordered_map<std::string, StatementPtr, TextHash, std::equal_to<>> statements_;
  std::optional<bool> durable_;
  bool always_durable_ = false;
  bool checks_references_ = false;
};

// What survives a power cut: `durable`, this transaction and all before it; `relaxed`, all up to
// some earlier point. Either survives the death of the process. A sync of the disk can take longer
// than all else in the start of a run, so only what somebody relies on afterwards is durable.
enum class Durability { relaxed, durable };

// Writes of one transaction: all on commit(), none otherwise. Waits for other writers. No query of
// the same database should be left open at commit(): it would keep the log from being cleared.
class Transaction {
 public:
  explicit Transaction(Database &database, Durability durability = Durability::durable);
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;
  ~Transaction();
  void commit();

 private:
  Database &database_;
  bool open_ = true;
};

}  // namespace det
