// The locks that the connections of this process share in the index of the write-ahead log.
#pragma once

struct sqlite3;

namespace det::engine {

// Where the system fails to take back such a lock, SQLite goes on as if it had, and the lock keeps
// all processes from the store until the last connection of this one is closed. From now on it is
// given back again until the system takes it, for a while.
void insist_on_unlocking(sqlite3 *connection);

}  // namespace det::engine
