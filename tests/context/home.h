// A store of its own for each test of cores, and short ways to look into it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/client/client.h"
#include "core/context/core.h"
#include "core/engine/store.h"

namespace det::test {

class Home {
 public:
  Home() {
    char name[] = "/tmp/detcore-ranks-XXXXXX";
    path_ = mkdtemp(name);
  }
  Home(const Home &) = delete;
  Home &operator=(const Home &) = delete;
  ~Home() { std::filesystem::remove_all(path_); }

  const std::string &path() const { return path_; }
  std::filesystem::path store() const { return std::filesystem::path(path_) / ".detcore"; }
  bool has_store() const { return std::filesystem::exists(engine::store_path(store())); }
  bool has_run_directories() const { return !std::filesystem::is_empty(store() / "runs"); }

  context::CoreOptions options() const {
    context::CoreOptions options;
    options.master = path_;
    options.log_level = LogLevel::error;
    return options;
  }
  std::shared_ptr<context::Core> start(comm::Communicator &communicator) const {
    return context::Core::start(options(), &communicator);
  }

  std::string text(const std::string &sql) const {
    engine::Database database = engine::open_store(store(), false, {});
    engine::Query query = database.query(sql);
    return query.next() ? query.text(0) : "(no row)";
  }
  std::unique_ptr<client::Client> client() const { return client::open_client(path_); }

 private:
  std::string path_;
};

inline void report(context::Core &core, const std::string &group, int64_t steps) {
  const journal::NamedValue loss{"loss", 0.5};
  core.train().report(group, steps, &loss, 1);
}

}  // namespace det::test
