// The database under the store, as the other files of this room see it: statements with their
// values, rows, transactions. Which database it is, its folder knows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace det::engine {

// What each database has its own words for. All other SQL of this room is what SQLite and
// PostgreSQL both read; a database in its folder brings these, its schema and how it locks.
struct Dialect {
  // Columns of experiments.
  const char *searcher_name;         // as JSON
  const char *searcher_metric_name;  // as JSON

  // Conditions on experiments, true where the parameter is empty.
  const char *has_name;  // ?2, a glob
  const char *has_tag;   // ?3

  // Columns of metrics: whether they are JSON.
  const char *is_metrics_json;
  const char *is_batches_json;
  // Behind the table's name: rows of a trial come in the order of their ids, so that no page sorts
  // the whole trial.
  const char *metrics_by_trial;
  // Statement: the groups and names of all that a trial (?1) has reported, each once.
  const char *metric_names;

  // Statements: a trial's best validation, which `best_order` sorts trials by: numbers, then NaN,
  // then none, then trials without a validation.
  // The row ?1 is that of trial ?4, if it is better: its metric is ?2 (JSON), signed ?3.
  const char *keep_best_validation;
  const char *forget_best_validation;  // of trial ?
};

// What survives a power cut: `durable`, this transaction and all before it; `relaxed`, all up to
// some earlier point. Either survives the death of the process. A sync of the disk can take longer
// than all else in the start of a run, so only what somebody relies on afterwards is durable.
enum class Durability { relaxed, durable };

// Compiled by a connection, which it does not outlive. Parameters are `?`, or `?1` and so on;
// their indexes begin at 1, those of columns at 0.
class Statement {
 public:
  virtual ~Statement() = default;

  virtual void bind_integer(int index, int64_t value) = 0;
  virtual void bind_number(int index, double value) = 0;
  // `in_place`: the text is not copied and outlives the execution.
  virtual void bind_text(int index, std::string_view value, bool in_place) = 0;
  virtual void bind_null(int index) = 0;

  virtual bool next() = 0;  // false: no row is left

  virtual bool is_null(int column) const = 0;
  virtual int64_t integer(int column) const = 0;
  virtual double number(int column) const = 0;
  virtual std::string_view text(int column) const = 0;  // until next()
};

class Connection {
 public:
  virtual ~Connection() = default;

  // For one execution; compiled ones are kept for the next.
  virtual std::unique_ptr<Statement> take(std::string_view sql) = 0;
  virtual void give_back(std::unique_ptr<Statement> statement) = 0;

  virtual void begin_reading() = 0;
  virtual void end_reading() noexcept = 0;

  // Waits for other writers.
  virtual void begin(Durability durability) = 0;
  virtual void commit() = 0;
  virtual void roll_back() noexcept = 0;

  virtual int64_t last_id() const = 0;
  virtual int64_t changes() const = 0;
  virtual int64_t data_version() = 0;
  virtual const std::filesystem::path &path() const = 0;
  virtual const Dialect &dialect() const = 0;
};

// A statement with its values, giving one row after the other.
class Query {
 public:
  Query(Connection &connection, std::string_view sql)
      : connection_(&connection), statement_(connection.take(sql)) {}
  Query(Query &&) = default;
  ~Query() {
    if (statement_) connection_->give_back(std::move(statement_));
  }

  // To the parameters from `first` on.
  template <class... Values>
  void bind([[maybe_unused]] int first, [[maybe_unused]] bool in_place, const Values &...values) {
    (bind_value(first++, values, in_place), ...);
  }

  bool next() { return statement_->next(); }

  bool is_null(int column) const { return statement_->is_null(column); }
  int64_t integer(int column) const { return statement_->integer(column); }
  double number(int column) const { return statement_->number(column); }
  std::string_view view(int column) const { return statement_->text(column); }
  std::string text(int column) const { return std::string(view(column)); }
  std::optional<int64_t> maybe_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
  }
  std::optional<std::string> maybe_text(int column) const {
    return is_null(column) ? std::nullopt : std::optional(text(column));
  }

 private:
  void bind_value(int index, int64_t value, bool) { statement_->bind_integer(index, value); }
  void bind_value(int index, uint64_t value, bool) {
    statement_->bind_integer(index, static_cast<int64_t>(value));
  }
  void bind_value(int index, int value, bool) { statement_->bind_integer(index, value); }
  void bind_value(int index, bool value, bool) { statement_->bind_integer(index, value ? 1 : 0); }
  void bind_value(int index, double value, bool) { statement_->bind_number(index, value); }
  void bind_value(int index, std::string_view value, bool in_place) {
    statement_->bind_text(index, value, in_place);
  }
  void bind_value(int index, const std::string &value, bool in_place) {
    statement_->bind_text(index, value, in_place);
  }
  void bind_value(int index, const char *value, bool in_place) {
    statement_->bind_text(index, value, in_place);
  }
  void bind_value(int index, std::nullptr_t, bool) { statement_->bind_null(index); }
  template <class Value>
  void bind_value(int index, const std::optional<Value> &value, bool in_place) {
    if (value) bind_value(index, *value, in_place);
    else bind_value(index, nullptr, in_place);
  }

  Connection *connection_;
  std::unique_ptr<Statement> statement_;
};

// One connection. Used by one thread at a time and never across fork().
class Database {
 public:
  explicit Database(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

  // A query whose rows the caller reads.
  template <class... Values>
  Query query(std::string_view sql, const Values &...values) {
    Query query(*connection_, sql);
    query.bind(1, false, values...);
    return query;
  }

  // A statement done for its effect.
  template <class... Values>
  void run(std::string_view sql, const Values &...values) {
    Query query(*connection_, sql);
    query.bind(1, true, values...);
    while (query.next()) {
    }
  }

  int64_t last_id() const { return connection_->last_id(); }  // of the last row inserted
  int64_t changes() const { return connection_->changes(); }  // rows the last statement touched
  // Differs from what it was before when another connection has written meanwhile.
  int64_t data_version() { return connection_->data_version(); }
  const std::filesystem::path &path() const { return connection_->path(); }  // for messages
  const Dialect &dialect() const { return connection_->dialect(); }

 private:
  friend class Reading;
  friend class Transaction;
  std::unique_ptr<Connection> connection_;
};

// Its queries see one moment of the store, and take its lock once. Nothing is written meanwhile by
// this connection, and writers of others are not kept waiting for long.
class Reading {
 public:
  explicit Reading(Database &database) : connection_(*database.connection_) {
    connection_.begin_reading();
  }
  Reading(const Reading &) = delete;
  Reading &operator=(const Reading &) = delete;
  ~Reading() { connection_.end_reading(); }

 private:
  Connection &connection_;
};

// Writes of one transaction: all on commit(), none otherwise. Waits for other writers. No query of
// the same database should be left open at commit(): it would keep a log from being cleared.
class Transaction {
 public:
  explicit Transaction(Database &database, Durability durability = Durability::durable)
      : connection_(*database.connection_) {
    connection_.begin(durability);
  }
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;
  ~Transaction() {
    if (open_) connection_.roll_back();
  }
  void commit() {
    connection_.commit();
    open_ = false;
  }

 private:
  Connection &connection_;
  bool open_ = true;
};

}  // namespace det::engine
