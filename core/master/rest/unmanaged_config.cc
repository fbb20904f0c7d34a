#include "core/master/rest/unmanaged_config.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/uuid.h"

namespace det::master {

namespace {

// A search that ends when the trial does.
Json searcher_of(const Json &config) {
  Json searcher = config.value("searcher", Json::object());
  if (!searcher.is_object())
    throw Error(Code::invalid,
                "reading the configuration: searcher is " + to_wire(searcher) +
                    R"(; give an object like {"name": "single", "max_length": 100})");
  const Json wanted{{"name", "single"}, {"metric", "unmanaged"}, {"max_length", 100'000'000}};
  for (const auto &[key, value] : wanted.items())
    if (!searcher.contains(key)) searcher[key] = value;
  return searcher;
}

}  // namespace

Json storage_for_master(Json storage) {
  if (storage.is_object()) erase_key(storage, "deduplicate");
  return storage;
}

Json unmanaged_config(const Json &config, const std::string &name, const Json &storage,
                      codec::WireVersion version) {
  Json complete = config.is_object() ? config : Json::object();
  complete["searcher"] = searcher_of(complete);
  if (!name.empty()) complete["name"] = name;
  else if (!complete.contains("name")) complete["name"] = "unmanaged-" + make_uuid().substr(0, 8);
  for (const char *key : {"data", "description", "labels", "workspace", "project"})
    if (!complete.contains(key)) complete[key] = nullptr;
  if (complete["workspace"].is_null() != complete["project"].is_null())
    throw Error(Code::invalid,
                "reading the configuration: workspace and project go together; give both or none");
  if (version >= codec::WireVersion::v0_38 && !storage.is_null())
    complete["checkpoint_storage"] = storage;
  if (const auto found = complete.find("checkpoint_storage"); found != complete.end())
    *found = storage_for_master(*found);
  return complete;
}

}  // namespace det::master
