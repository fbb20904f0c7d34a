// The layout of the store, and how an older one becomes the current one.
#pragma once

#include "core/engine/database.h"
#include "core/engine/sqlite/connection.h"

namespace det::engine {

// Whether the store has to be upgraded. Changes nothing. Throws Code::unsupported for the store of
// a newer release, Code::corrupt for another program's database.
bool is_outdated(Database &database);

// Brings the store to the current version, also when several processes try at once. `connection` is
// that of `database`.
void migrate(Database &database, SqliteConnection &connection);

}  // namespace det::engine
