// An object store in a folder, whose calls can fail, or end the process, at a chosen instant. What
// stands in it outlives the process.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/uuid.h"
#include "core/cloud/object_store.h"
#include "core/cloud/request_scope.h"

namespace det::cloud {

class FolderStore : public ObjectStore {
 public:
  explicit FolderStore(std::filesystem::path root) : root_(std::move(root)) {
    std::filesystem::create_directories(root_ / "objects");
    std::filesystem::create_directories(root_ / "uploads");
  }

  // Before each call, with its name and its key; what it throws, the call throws.
  std::function<void(const std::string &call, const std::string &key)> before;
  // As `before`, in the calls of a scope.
  std::function<void(RequestScope &scope, const std::string &call)> before_in_scope;
  std::function<void()> each_listed;  // before each object that list() gives
  ObjectLimits limits_of_store{};
  bool keeps = true;
  std::atomic<uint64_t> part_bytes{0};  // taken by put_part()

  std::shared_ptr<ObjectStore> within(RequestScope &scope) override;
  const ObjectLimits &limits() const override { return limits_of_store; }
  std::string name_of(const std::string &key) const override { return "folder://bucket/" + key; }
  bool keeps_directories() override { return keeps; }

  void put(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
           bool only_new) override {
    tell("put", key);
    const std::filesystem::path aside = write_aside(*bytes);
    const unsigned flags = only_new ? RENAME_NOREPLACE : 0;
    if (renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, object(key).c_str(), flags) != 0) {
      unlink(aside.c_str());
      throw Error(Code::conflict, "storing '" + name_of(key) + "': it is there");
    }
    tell("put done", key);
  }

  void get(const std::string &key, uint64_t offset, uint64_t size, const std::string &version,
           const std::shared_ptr<http::BodySink> &sink) override {
    tell("get", key);
    const std::string bytes = contents(key);
    if (!version.empty() && version != version_of(bytes))
      throw Error(Code::conflict, "reading '" + name_of(key) + "': it was replaced");
    if (offset > bytes.size())
      throw Error(Code::invalid, "reading '" + name_of(key) + "': it ends before", 0, 416);
    const std::string part = bytes.substr(offset, size);
    sink->begin();
    for (size_t at = 0; at < part.size(); at += 100'000)
      sink->write(part.data() + at, std::min<size_t>(100'000, part.size() - at));
  }

  std::optional<ObjectInfo> find(const std::string &key) override {
    tell("find", key);
    return info_of(key);
  }

  void list(const std::string &prefix,
            const std::function<void(const ObjectInfo &)> &each) override {
    tell("list", prefix);
    for (const std::string &key : keys())
      if (key.starts_with(prefix))
        if (std::optional<ObjectInfo> info = info_of(key)) {
          info->checksum.clear();
          if (each_listed) each_listed();
          each(*info);
        }
  }

  void remove(const std::vector<std::string> &keys) override {
    for (const std::string &key : keys) {
      tell("remove", key);
      unlink(object(key).c_str());
    }
  }

  bool copy(const std::string &from, const std::string &to) override {
    tell("copy", from);
    put(to, std::make_shared<TextRange>("a copy", contents(from)), false);
    return true;
  }

  std::string begin_parts(const std::string &key) override {
    tell("begin_parts", key);
    const std::string upload = make_uuid();
    std::filesystem::create_directories(root_ / upload);
    write_all(open_file(root_ / upload / "key", O_WRONLY | O_CREAT).get(), key, "key");
    std::filesystem::rename(root_ / upload, root_ / "uploads" / upload);
    return upload;
  }

  StoredPart put_part(const std::string &key, const std::string &upload, int number,
                      const std::shared_ptr<ByteRange> &bytes) override {
    tell("put_part", key);
    const std::filesystem::path aside = write_aside(*bytes);
    std::filesystem::rename(aside, root_ / "uploads" / upload / std::to_string(number));
    part_bytes += bytes->size();
    return part_of(upload, number);
  }

  std::vector<StoredPart> list_parts(const std::string &key, const std::string &upload) override {
    tell("list_parts", key);
    std::vector<StoredPart> parts;
    for (int number = 1; number <= limits_of_store.parts_max; ++number)
      if (std::filesystem::exists(root_ / "uploads" / upload / std::to_string(number)))
        parts.push_back(part_of(upload, number));
    return parts;
  }

  void complete_parts(const std::string &key, const std::string &upload,
                      const std::vector<StoredPart> &parts) override {
    tell("complete_parts", key);
    std::string all;
    for (const StoredPart &part : parts)
      all += read_file(root_ / "uploads" / upload / std::to_string(part.number));
    put(key, std::make_shared<TextRange>("the parts", std::move(all)), false);
    drop(upload);
  }

  void abort_parts(const std::string &key, const std::string &upload) override {
    tell("abort_parts", key);
    drop(upload);
  }

  std::vector<PendingUpload> list_uploads(const std::string &prefix) override {
    tell("list_uploads", prefix);
    std::vector<PendingUpload> found;
    for (const std::string &upload : entry_names(root_ / "uploads")) {
      const std::filesystem::path path = root_ / "uploads" / upload / "key";
      if (!std::filesystem::exists(path)) continue;
      const std::string key = read_file(path);
      if (key.starts_with(prefix)) found.push_back({key, upload, upload_begun_ms});
    }
    return found;
  }

  std::string checksum_of(ByteRange &bytes) override {
    std::string text(bytes.size(), '\0');
    for (size_t at = 0; at < text.size();) at += bytes.read(at, text.data() + at, text.size() - at);
    return version_of(text);
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> found;
    for (const std::string &name : entry_names(root_ / "objects")) found.push_back(unescaped(name));
    std::sort(found.begin(), found.end());
    return found;
  }
  size_t uploads() const { return entry_names(root_ / "uploads").size(); }
  std::filesystem::path object(const std::string &key) const {
    return root_ / "objects" / escaped(key);
  }

  int64_t upload_begun_ms = 0, modified_ms = 0;
  std::map<std::string, int64_t> modified_of;  // of some keys, instead

 private:
  void tell(const std::string &call, const std::string &key) {
    if (before) before(call, key);
  }

  // At once, as a store does, also where another thread ends the process in between.
  void drop(const std::string &upload) {
    std::filesystem::rename(root_ / "uploads" / upload, root_ / upload);
    std::filesystem::remove_all(root_ / upload);
  }

  // Keys have '/', and are longer than a file's name may be.
  std::string escaped(const std::string &key) const {
    std::string name;
    for (const char c : key)
      name += c == '/' ? std::string("%s") : c == '%' ? "%%" : std::string(1, c);
    return name;
  }
  static std::string unescaped(const std::string &name) {
    std::string key;
    for (size_t at = 0; at < name.size(); ++at)
      if (name[at] != '%') key += name[at];
      else key += name[++at] == 's' ? '/' : '%';
    return key;
  }

  std::string contents(const std::string &key) const {
    if (!std::filesystem::exists(object(key)))
      throw Error(Code::not_found, "reading '" + name_of(key) + "': it is not there");
    return read_file(object(key));
  }
  static std::string version_of(const std::string &bytes) {
    return std::to_string(checksum64(bytes.data(), bytes.size()));
  }
  // Nothing where it is not there, or not any more.
  std::optional<ObjectInfo> info_of(const std::string &key) const try {
    const std::string bytes = contents(key);
    const auto own = modified_of.find(key);
    return ObjectInfo{key, bytes.size(), version_of(bytes),
                      own == modified_of.end() ? modified_ms : own->second, version_of(bytes)};
  } catch (const Error &error) {
    if (error.code != Code::not_found) throw;
    return std::nullopt;
  }
  StoredPart part_of(const std::string &upload, int number) const {
    const std::string bytes = read_file(root_ / "uploads" / upload / std::to_string(number));
    return {number, bytes.size(), version_of(bytes), version_of(bytes)};
  }
  std::filesystem::path write_aside(ByteRange &bytes) const {
    std::string text(bytes.size(), '\0');
    for (size_t at = 0; at < text.size();) at += bytes.read(at, text.data() + at, text.size() - at);
    const std::filesystem::path aside = root_ / (".aside-" + make_uuid());
    write_all(open_file(aside, O_WRONLY | O_CREAT | O_EXCL).get(), text, aside.string());
    return aside;
  }

  const std::filesystem::path root_;
};

// The calls of one scope.
class ScopedFolderStore : public ObjectStore {
 public:
  ScopedFolderStore(FolderStore &store, RequestScope &scope) : store_(store), scope_(scope) {}

  std::shared_ptr<ObjectStore> within(RequestScope &scope) override { return store_.within(scope); }
  const ObjectLimits &limits() const override { return store_.limits(); }
  std::string name_of(const std::string &key) const override { return store_.name_of(key); }
  bool keeps_directories() override { return store_.keeps_directories(); }
  void put(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
           bool only_new) override {
    in_scope("put").put(key, bytes, only_new);
  }
  void get(const std::string &key, uint64_t offset, uint64_t size, const std::string &version,
           const std::shared_ptr<http::BodySink> &sink) override {
    in_scope("get").get(key, offset, size, version, sink);
  }
  std::optional<ObjectInfo> find(const std::string &key) override {
    return in_scope("find").find(key);
  }
  void list(const std::string &prefix,
            const std::function<void(const ObjectInfo &)> &each) override {
    in_scope("list").list(prefix, each);
  }
  void remove(const std::vector<std::string> &keys) override { in_scope("remove").remove(keys); }
  bool copy(const std::string &from, const std::string &to) override {
    return in_scope("copy").copy(from, to);
  }
  std::string begin_parts(const std::string &key) override {
    return in_scope("begin_parts").begin_parts(key);
  }
  StoredPart put_part(const std::string &key, const std::string &upload, int number,
                      const std::shared_ptr<ByteRange> &bytes) override {
    return in_scope("put_part").put_part(key, upload, number, bytes);
  }
  std::vector<StoredPart> list_parts(const std::string &key, const std::string &upload) override {
    return in_scope("list_parts").list_parts(key, upload);
  }
  void complete_parts(const std::string &key, const std::string &upload,
                      const std::vector<StoredPart> &parts) override {
    in_scope("complete_parts").complete_parts(key, upload, parts);
  }
  void abort_parts(const std::string &key, const std::string &upload) override {
    in_scope("abort_parts").abort_parts(key, upload);
  }
  std::vector<PendingUpload> list_uploads(const std::string &prefix) override {
    return in_scope("list_uploads").list_uploads(prefix);
  }
  std::string checksum_of(ByteRange &bytes) override { return store_.checksum_of(bytes); }

 private:
  FolderStore &in_scope(const char *call) const {
    if (store_.before_in_scope) store_.before_in_scope(scope_, call);
    return store_;
  }

  FolderStore &store_;
  RequestScope &scope_;
};

inline std::shared_ptr<ObjectStore> FolderStore::within(RequestScope &scope) {
  return std::make_shared<ScopedFolderStore>(*this, scope);
}

}  // namespace det::cloud
