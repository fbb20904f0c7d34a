// What a configuration may hold, written down as data. Checking, shorthands, merging and defaults
// all go by it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/config/experiment/experiment_config.h"

namespace det::config {

class ConfigChecker;
struct ConfigField;
struct ConfigPath;
struct ConfigSchema;

namespace config_type {
constexpr unsigned null = 1, boolean = 2, integer = 4, number = 8, text = 16, list = 32,
                   object = 64, any = 127;
}

// Of an object whose keys depend on one of them: its value, and the keys that it brings.
struct ConfigAlternative {
  std::string name;
  std::vector<ConfigField> fields;
};

struct ConfigSchema {
  // Looks at a value of the right type; false: nothing inside of it is looked at any more.
  using Check = bool (*)(ConfigChecker &, const Json &, const ConfigPath &);
  // Writes shorthands out. Gets what users wrote, so it leaves alone what it does not understand.
  using Decode = Json (*)(Json);
  // Neither is null. The first has priority.
  using Merge = Json (*)(const ConfigSchema &, const Json &, const Json &);

  unsigned types = 0;  // of config_type
  std::optional<double> least, most;
  bool excludes_least = false;
  std::vector<std::string> choices;              // of a text; empty: any
  std::shared_ptr<const ConfigSchema> elements;  // of a list; of an object: of its other keys
  std::vector<ConfigField> fields;               // of an object
  bool open = false;                             // other keys may have any value
  std::string discriminator;                     // the key that selects one of these; with
  std::vector<ConfigAlternative> alternatives;   // `elements` it may be left out
  bool names_unknown = true;                     // also when no alternative is selected
  Check check = nullptr;
  Decode decode = nullptr;
  Merge merge = nullptr;

  ConfigSchema or_type(unsigned type) const;
  ConfigSchema at_least(double bound) const;
  ConfigSchema above(double bound) const;
  ConfigSchema at_most(double bound) const;
  ConfigSchema one_of(std::vector<std::string> values) const;
  ConfigSchema checked(Check function) const;
  ConfigSchema decoded(Decode function) const;
  ConfigSchema merged(Merge function) const;

  // The one that `object` selects, or none.
  const ConfigAlternative *selected(const Json &object) const;
  // In the order in which they are written: the common ones, then those of the alternative.
  std::vector<const ConfigField *> fields_of(const Json &object) const;
  // Of the keys that are no fields; null: there must be none.
  const ConfigSchema *others_of(const Json &object) const;
};

struct ConfigField {
  enum class Need {
    optional,  // null is as good as absent
    complete,  // likewise, until the configuration is complete
    always,    // must be there, and not be null
    ignored,   // optional, and left out of the complete configuration
  };

  std::string key;
  ConfigSchema schema;
  Need need = Need::optional;
  std::optional<Json> fallback;  // none: stays absent
};

ConfigSchema anything();
ConfigSchema boolean();
ConfigSchema integer();
ConfigSchema number();
ConfigSchema text();
ConfigSchema list_of(ConfigSchema elements);
ConfigSchema map_of(ConfigSchema elements);
ConfigSchema object(std::vector<ConfigField> fields);
ConfigSchema open_object();
// An object with `common` keys and those of one of `alternatives`, by the value of `discriminator`.
ConfigSchema choice(std::string discriminator, std::vector<ConfigField> common,
                    std::vector<ConfigAlternative> alternatives);

ConfigField optional(std::string key, ConfigSchema schema);
ConfigField optional(std::string key, ConfigSchema schema, Json fallback);
ConfigField needed(std::string key, ConfigSchema schema);  // once it is complete
ConfigField required(std::string key, ConfigSchema schema);
ConfigField ignored(std::string key, ConfigSchema schema);

// The value under `key`; null where there is none, and where `object` is no object.
const Json &config_member(const Json &object, std::string_view key);

// The whole of it; see docs/experiment-config.md.
const ConfigSchema &experiment_schema(ConfigRules rules);

}  // namespace det::config
