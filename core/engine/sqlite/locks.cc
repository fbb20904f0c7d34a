#include "core/engine/sqlite/locks.h"

#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace det::engine {

namespace {

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

}  // namespace

void insist_on_unlocking(sqlite3 *connection) {
  sqlite3_file *file = nullptr;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
      file == nullptr || file->pMethods == nullptr || file->pMethods->iVersion < 2)
    return;
  file->pMethods = insisting(file->pMethods);
}

}  // namespace det::engine
