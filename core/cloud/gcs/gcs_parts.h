// Objects in parts, which Google Cloud Storage composes of objects.
//
// Its XML interface has uploads in parts as S3 has them, too. Composition needs no second interface
// and no XML, lists a checksum of each part, and can be tested against a server, which the other
// cannot. Parts stand in "<prefix>/.detcore-parts/<upload>/", and say whose they are: an upload
// that has none yet takes no room and needs no request to begin. When they are put together the
// service removes them in the same step and for good, so that neither soft deletion nor versioning
// keeps them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cloud/gcs/gcs_objects.h"
#include "core/cloud/object_store.h"

namespace det::cloud {

// Its functions are those of ObjectStore.
class GcsParts {
 public:
  GcsParts(std::shared_ptr<GcsObjects> objects, const std::string &prefix,
           std::shared_ptr<Logger> logger);

  bool owns(const std::string &key) const { return key.starts_with(folder_); }

  std::string begin();
  StoredPart put(const std::string &key, const std::string &upload, int number,
                 const std::shared_ptr<ByteRange> &bytes);
  std::vector<StoredPart> list(const std::string &key, const std::string &upload);
  void complete(const std::string &key, const std::string &upload,
                const std::vector<StoredPart> &parts);
  void abort(const std::string &upload);
  std::vector<PendingUpload> list_uploads(const std::string &prefix);

 private:
  std::string folder_of(const std::string &upload) const;
  void compose(const std::string &key, const std::string &upload, std::vector<GcsObject> row);
  void remove_rest(const std::string &upload);

  const std::shared_ptr<GcsObjects> objects_;
  const std::string folder_;
  const std::shared_ptr<Logger> logger_;
};

}  // namespace det::cloud
