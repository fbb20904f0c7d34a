// The files that AWS' own tools keep: ~/.aws/config and ~/.aws/credentials.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace det::cloud {

using IniSection = std::map<std::string, std::string>;

// By section. Keys below another ("s3 =", and more deeply indented "addressing_style = path") are
// called "s3.addressing_style". `name` is for errors, which repeat nothing of the text, as it has
// secrets: Code::invalid.
std::map<std::string, IniSection> parse_ini(std::string_view text, const std::string &name);

// Both files as they are now. A file that is not there has no profiles.
class AwsProfiles {
 public:
  // AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, else below the home directory.
  static AwsProfiles load();
  static std::filesystem::path credentials_path();

  // `given`, else AWS_PROFILE, AWS_DEFAULT_PROFILE, or "default".
  static std::string chosen_name(const std::string &given);

  bool has(const std::string &profile) const;
  // A setting of a profile; empty where it has none. Both files may have it: the credentials'
  // counts.
  std::string value(const std::string &profile, const std::string &key) const;
  // Of a section of the config file, such as "sso-session work".
  std::string section_value(const std::string &section, const std::string &key) const;

  const IniSection &in_credentials(const std::string &profile) const;
  const IniSection &in_config(const std::string &profile) const;

 private:
  std::map<std::string, IniSection> config_, credentials_;
};

}  // namespace det::cloud
