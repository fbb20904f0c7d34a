#include "core/storage/share.h"

#include "core/base/json.h"

namespace det::storage {

std::string pack_share(const HashedFiles &files) {
  Json list = Json::array();
  for (const auto &[path, file] : files)
    list.push_back(
        Json::array({path, file.stamp.size, file.stamp.mtime_ns, file.stamp.inode, file.checksum,
                     file.attributes ? Json(file.attributes->mode) : Json(),
                     file.attributes && file.attributes->is_sparse}));
  return pack(list);
}

HashedFiles unpack_shares(const std::vector<std::string> &shares) {
  HashedFiles files;
  for (const std::string &share : shares) try {
      for (const Json &file : unpack(share, "what a rank finished")) {
        const FileStamp stamp{file.at(1), file.at(2), file.at(3)};
        auto path = file.at(0).get<std::string>();
        HashedFile &one = files[path] = {path, stamp, file.at(4)};
        if (!file.at(5).is_null())
          one.attributes = FileAttributes{file.at(5), stamp.mtime_ns, file.at(6)};
      }
    } catch (const Json::exception &e) {
      throw Error(Code::corrupt, std::string("reading what a rank finished: ") + e.what());
    }
  return files;
}

}  // namespace det::storage
