// Where what a store records is. What lies in its home, the directory that is
// given to the user, is recorded relative to that: a store that was copied, moved or mounted
// elsewhere has its files with it.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "core/base/json.h"
#include "core/engine/database.h"

namespace det::engine {

std::filesystem::path home_of(const Database &store);

// Under which a storage says its directory; null for buckets, and for what is no storage.
const char *directory_key(const Json &storage);
// What one with such a key stands for; empty where it does not say so properly.
std::filesystem::path directory_of(const Json &storage);
// That of a storage that is said in text; nothing for what is none of the file system.
std::optional<std::filesystem::path> path_of_text(const Json &storage);
bool is_in_home(const Json &recorded);

// A storage, as a configuration has it, for the records, and back.
Json recorded_storage(const std::filesystem::path &home, const Json &storage);
Json used_storage(const std::filesystem::path &home, Json recorded);

// An experiment's configuration, with its storage.
Json recorded_config(const Database &store, Json config);
Json used_config(const Database &store, std::string_view recorded);

// Brings records of earlier releases, which named the home itself, to the same.
void relate_places(Database &store);

}  // namespace det::engine
