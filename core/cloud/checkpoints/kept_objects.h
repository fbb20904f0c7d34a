// Files that are kept in a bucket beside the checkpoints.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/cloud/checkpoints/bucket.h"
#include "core/storage/storage.h"

namespace det::cloud {

class KeptObjects : public storage::KeptFiles {
 public:
  explicit KeptObjects(std::shared_ptr<const Bucket> bucket) : bucket_(std::move(bucket)) {}

  void put(const std::string &path, const std::filesystem::path &file,
           storage::Progress *progress) override;
  void put_new(const std::string &path, const std::filesystem::path &file,
               storage::Progress *progress) override;
  void remove(const std::string &directory) override;
  std::vector<storage::KeptFile> list(const std::string &directory,
                                      storage::Progress *progress) override;
  void read(const std::string &directory, const std::vector<storage::KeptRange> &ranges,
            storage::Progress *progress) override;

 private:
  std::string key_of(const std::string &path) const;
  void put_parts(const std::string &key, const std::filesystem::path &file, uint64_t size,
                 storage::Progress *progress) const;
  void drop_uploads(const std::string &key) const;
  void abort_uploads(const std::map<std::string, std::string> &uploads) const;

  const std::shared_ptr<const Bucket> bucket_;
};

}  // namespace det::cloud
