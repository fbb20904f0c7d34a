#include "core/cloud/s3/aws_profiles.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/environment.h"

namespace det::cloud {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// "[profile name]", also with more blanks in it.
std::string section_name(std::string_view line) {
  std::string_view name = trimmed(line.substr(1, line.find(']') - 1));
  const size_t blank = name.find_first_of(blanks);
  if (blank == name.npos) return std::string(name);
  return std::string(name.substr(0, blank)) + " " + std::string(trimmed(name.substr(blank)));
}

std::filesystem::path path_of(const char *variable, const char *name) {
  const std::string given = environment_variable(variable);
  if (given.starts_with("~/")) return home_directory() / given.substr(2);
  return given.empty() ? home_directory() / ".aws" / name : std::filesystem::path(given);
}

std::map<std::string, IniSection> load_file(const std::filesystem::path &path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return {};
  return parse_ini(read_file(path), path.string());
}

const IniSection &section(const std::map<std::string, IniSection> &file, const std::string &name) {
  static const IniSection nothing;
  const auto found = file.find(name);
  return found == file.end() ? nothing : found->second;
}

std::string value_in(const IniSection &section, const std::string &key) {
  const auto found = section.find(key);
  return found == section.end() ? "" : found->second;
}

}  // namespace

std::map<std::string, IniSection> parse_ini(std::string_view text, const std::string &name) {
  std::map<std::string, IniSection> sections;
  IniSection *current = nullptr;
  std::string above;  // the key that indented lines belong to
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view said = trimmed(line);
    if (said.empty() || said.front() == '#' || said.front() == ';') continue;
    const bool indented = blanks.find(line.front()) != blanks.npos;
    const auto refuse = [&](const char *why) {
      throw Error(Code::invalid,
                  "reading " + name + ": line " + std::to_string(number) + " " + why);
    };
    if (said.front() == '[' && !indented) {
      if (said.find(']') == said.npos) refuse("begins a section and does not end its name with ]");
      current = &sections[section_name(said)];
      above.clear();
      continue;
    }
    const size_t equals = said.find('=');
    // The continuation of a text; none that we read has one.
    if (indented && (above.empty() || equals == said.npos) && current != nullptr) continue;
    if (current == nullptr) refuse("is before the first [section]");
    if (equals == said.npos) refuse("is neither a [section] nor 'key = value'");
    const std::string key(trimmed(said.substr(0, equals)));
    const std::string value(trimmed(said.substr(equals + 1)));
    if (!indented) above = value.empty() ? key : "";
    (*current)[indented ? above + "." + key : key] = value;
  }
  return sections;
}

AwsProfiles AwsProfiles::load() {
  AwsProfiles profiles;
  profiles.config_ = load_file(path_of("AWS_CONFIG_FILE", "config"));
  profiles.credentials_ = load_file(credentials_path());
  return profiles;
}

std::filesystem::path AwsProfiles::credentials_path() {
  return path_of("AWS_SHARED_CREDENTIALS_FILE", "credentials");
}

std::string AwsProfiles::chosen_name(const std::string &given) {
  for (const std::string &name :
       {given, environment_variable("AWS_PROFILE"), environment_variable("AWS_DEFAULT_PROFILE")})
    if (!name.empty()) return name;
  return "default";
}

const IniSection &AwsProfiles::in_credentials(const std::string &profile) const {
  return section(credentials_, profile);
}

const IniSection &AwsProfiles::in_config(const std::string &profile) const {
  const IniSection &named = section(config_, "profile " + profile);
  return named.empty() && profile == "default" ? section(config_, profile) : named;
}

bool AwsProfiles::has(const std::string &profile) const {
  return !in_credentials(profile).empty() || !in_config(profile).empty();
}

std::string AwsProfiles::value(const std::string &profile, const std::string &key) const {
  const std::string found = value_in(in_credentials(profile), key);
  return found.empty() ? value_in(in_config(profile), key) : found;
}

std::string AwsProfiles::section_value(const std::string &name, const std::string &key) const {
  return value_in(section(config_, name), key);
}

}  // namespace det::cloud
