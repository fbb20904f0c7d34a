#include "core/config/token_cache.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/config/master_url.h"
#include "core/config/user_file.h"

namespace det::config {

namespace {

bool is_text_object(const Json &value) {
  return value.is_object() &&
         std::all_of(value.begin(), value.end(), [](const Json &text) { return text.is_string(); });
}

// What is known of one master: {"active_user": user, "tokens": {user: token}}.
bool is_entry(Json &entry) {
  if (!entry.is_object()) return false;
  for (const auto &[key, value] : entry.items())
    if (key == "tokens" ? !is_text_object(value) : key != "active_user" || !value.is_string())
      return false;
  return true;
}

std::string canonical_or_empty(const std::string &url) {
  try {
    return canonical_master_url(url, "a master");
  } catch (const Error &) {
    return {};
  }
}

// Version 1 had addresses as they were typed.
void upgrade_from_1(Json &masters) {
  Json upgraded = Json::object();
  for (const auto &[typed, entry] : masters.items())
    if (const std::string url = canonical_or_empty(typed); !url.empty()) {
      if (!entry.is_object() || !upgraded.contains(url)) upgraded[url] = entry;
      else upgraded[url].merge_patch(entry);
    }
  masters = std::move(upgraded);
}

// The present form: {"version": 2, "masters": {canonical URL: entry}}.
bool upgrade(Json &cache, const std::string &path, const std::string &master_url) {
  const Json version = cache.value("version", Json(0));
  if (!version.is_number_integer() || version < 0) return false;
  if (version > 2)
    throw Error(Code::unsupported, "reading '" + path +
                                       "': a newer release wrote it; use that one, or remove the "
                                       "file and log in again");
  // Version 0 knew one master, and did not say which.
  if (version == 0) {
    erase_key(cache, "version");
    cache = {{"masters", Json::object({{master_url, cache}})}};
  } else if (cache.size() != 2 || !cache.contains("masters") || !cache["masters"].is_object()) {
    return false;
  }
  Json &masters = cache["masters"];
  if (version == 1) upgrade_from_1(masters);
  for (const auto &[url, entry] : masters.items())
    if (canonical_or_empty(url) != url || !is_entry(entry)) return false;
  cache["version"] = 2;
  return true;
}

UserFile cache_file(const std::string &master_url) {
  const std::string name = "auth.json";
  const std::string path = (user_config_directory() / name).string();
  return {name, [=](Json &cache) { return upgrade(cache, path, master_url); },
          "log in again with `det login`"};
}

// Changes the entry of one master.
template <class Change>
void change_entry(const std::string &master_url, Change change) {
  cache_file(master_url).change([&](Json &cache) {
    Json &entry = cache["masters"][master_url];
    if (entry.is_null()) entry = Json::object();
    if (!entry.contains("tokens")) entry["tokens"] = Json::object();
    change(entry);
  });
}

}  // namespace

KnownUsers read_known_users(const std::string &master_url) {
  KnownUsers users;
  const std::optional<Json> cache = cache_file(master_url).read();
  if (!cache) return users;
  const Json entry = cache->at("masters").value(master_url, Json::object());
  users.active = entry.value("active_user", "");
  const Json tokens = entry.value("tokens", Json::object());
  for (const auto &[user, token] : tokens.items()) users.tokens[user] = token.get<std::string>();
  return users;
}

void store_token(const std::string &master_url, const std::string &user, const std::string &token,
                 bool log_in) {
  change_entry(master_url, [&](Json &entry) {
    entry["tokens"][user] = token;
    if (log_in) entry["active_user"] = user;
  });
}

void drop_token(const std::string &master_url, const std::string &user, const std::string &token) {
  change_entry(master_url, [&](Json &entry) {
    if (entry["tokens"].value(user, "") == token) erase_key(entry["tokens"], user);
  });
}

void forget_user(const std::string &master_url, const std::string &user) {
  change_entry(master_url, [&](Json &entry) {
    erase_key(entry["tokens"], user);
    if (entry.value("active_user", "") == user) erase_key(entry, "active_user");
  });
}

}  // namespace det::config
