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

#include "core/base/text/string_hash.h"
#include "core/engine/database.h"

struct sqlite3;

namespace det::engine {

struct CloseDatabase {
  void operator()(sqlite3 *handle) const;
};
class SqliteStatement;

// After an error of the system it is opened anew for the next statement: SQLite may have lost count
// of the locks it holds, and would answer "locking protocol" for ever.
class SqliteConnection : public Connection {
 public:
  // `flags` as sqlite3_open_v2() has them.
  SqliteConnection(const std::filesystem::path &path, int flags,
                   std::chrono::milliseconds busy_timeout);
  ~SqliteConnection() override;

  std::unique_ptr<Statement> take(std::string_view sql) override;
  void give_back(std::unique_ptr<Statement> statement) override;
  void begin_reading() override;
  void end_reading() noexcept override;
  void begin(Durability durability) override;
  void commit() override;
  void roll_back() noexcept override;
  int64_t last_id() const override;
  int64_t changes() const override;
  int64_t data_version() override;
  const std::filesystem::path &path() const override { return path_; }
  const Dialect &dialect() const override;

  // Several statements, from a text of our own.
  void run_script(const char *sql);
  // A row that another one refers to must be there.
  void check_references();
  // Every transaction is durable from now on, whatever it asks for.
  void set_always_durable();

 private:
  friend class SqliteStatement;
  // Of a file, which may be another one under the same name the next time.
  struct FileIdentity {
    uint64_t device = 0, inode = 0;
    bool operator==(const FileIdentity &) const = default;
  };

  void connect();
  void disconnect();
  void shorten_log() noexcept;
  void reconnect_if_lost();
  // Throws Code::io, with ESTALE, where it is not the file any more that was opened.
  void require_in_place() const;
  void execute(std::string_view sql);
  void set_durable(bool durable);
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
  // By their texts; empty while somebody has them.
  std::unordered_map<std::string, std::unique_ptr<Statement>, StringHash, std::equal_to<>>
      statements_;
  std::optional<bool> durable_;
  bool always_durable_ = false;
  bool checks_references_ = false;
};

}  // namespace det::engine
