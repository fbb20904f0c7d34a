#pragma once

#include <memory>
#include <string_view>

#include "core/engine/sqlite/connection.h"

struct sqlite3_stmt;

namespace det::engine {

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

}  // namespace det::engine
