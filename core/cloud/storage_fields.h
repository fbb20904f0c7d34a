// What checkpoint_storage says of an object store, key by key.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/http/tls.h"

namespace det::cloud {

// A member of any object; empty where it is absent or no text.
std::string optional_text(const Json &object, const char *member);

// Everything here throws Code::invalid, naming the key. No value is ever repeated: it may be a
// secret.
class StorageFields {
 public:
  // `known` beside those that every storage may have. Must not outlive the config.
  StorageFields(const Json &config, std::initializer_list<const char *> known);

  std::string text(const char *key) const;  // empty: absent or null
  std::string required_text(const char *key) const;
  std::optional<bool> flag(const char *key) const;

  // `ca_bundle`: a file of certificates trusted besides those of this machine.
  http::TlsOptions tls() const;

  [[noreturn]] void refuse(const std::string &why) const;

 private:
  const Json *find(const char *key) const;

  const Json &config_;
  std::string type_;
};

}  // namespace det::cloud
