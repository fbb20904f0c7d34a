// An environment and a home directory without anything of AWS, but for what a test puts there.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/temporary_directory.h"

namespace det::cloud {

class AwsEnvironment {
 public:
  AwsEnvironment() {
    std::vector<std::string> names;
    for (char **entry = environ; *entry != nullptr; ++entry)
      if (const std::string text = *entry; text.starts_with("AWS_"))
        names.push_back(text.substr(0, text.find('=')));
    for (const std::string &name : names) unsetenv(name.c_str());
    set("HOME", home_.path().string());
    set("AWS_EC2_METADATA_DISABLED", "true");
    std::filesystem::create_directories(home_ / ".aws/sso/cache");
  }

  void set(const std::string &name, const std::string &value) const {
    setenv(name.c_str(), value.c_str(), 1);
  }
  void write(const std::string &name, const std::string &text) const {
    std::ofstream(home_ / ".aws" / name) << text;
  }
  std::string path(const std::string &name) const { return (home_ / ".aws" / name).string(); }

 private:
  const TemporaryDirectory home_;
};

}  // namespace det::cloud
