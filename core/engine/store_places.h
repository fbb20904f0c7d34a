// Where a store is, and where what it records is. What lies in its home, the directory that is
// given to the user, is recorded relative to that: a store that was copied, moved or mounted
// elsewhere has its files with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/engine/database.h"

namespace det::engine {

std::filesystem::path home_of(const Database &store);

// A storage, as a configuration has it, for the records, and back.
Json recorded_storage(const std::filesystem::path &home, const Json &storage);
Json used_storage(const std::filesystem::path &home, Json recorded);

// An experiment's configuration, with its storage.
Json recorded_config(const Database &store, Json config);
Json used_config(const Database &store, std::string_view recorded);

// Brings records of earlier releases, which named the home itself, to the same.
void relate_places(Database &store);

// Notes where the store is. In a copy of one that is still there, the runs that go on are those of
// the other.
void note_place(Database &store);

// The store of which this one is a copy, and what both have recorded: files of that outside of this
// one's home are as much the other's.
struct CopiedStore {
  std::filesystem::path home;
  std::filesystem::path own_home;  // of this one, without links
  int64_t last_experiment = 0, last_checkpoint = 0;

  bool shares(int64_t checkpoint, const Json &recorded_storage) const;
  // Whether it is outside, where a link on the way to it leads as well.
  bool is_outside(const Json &recorded_storage) const;
};
std::optional<CopiedStore> copied_store(Database &store);

// Throw Code::state where such files would be deleted.
void require_own_files(Database &store, int64_t experiment_id);
void require_own_files(Database &store, const std::string &checkpoint);

}  // namespace det::engine
