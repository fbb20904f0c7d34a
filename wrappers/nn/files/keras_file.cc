#include "wrappers/nn/files/keras_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "core/base/error.h"
#include "core/base/file.h"

#ifdef DET_HAS_HDF5
#include <zip.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "core/tensors/tensor.h"
#include "wrappers/nn/files/hdf5_file.h"
#endif

namespace det::nn {

namespace {

namespace fs = std::filesystem;

enum class Kind { none, hdf5, zip };

Kind kind_of(const fs::path &path) {
  std::array<char, 8> first{};
  struct stat about {};
  const Fd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
      pread(file.get(), first.data(), first.size(), 0) < 0)
    return Kind::none;
  const std::string_view begins(first.data(), first.size());
  if (begins == "\x89HDF\r\n\x1a\n") return Kind::hdf5;
  return begins.starts_with("PK\x03\x04") ? Kind::zip : Kind::none;
}

}  // namespace

bool is_keras_file(const fs::path &path) { return kind_of(path) != Kind::none; }

#ifndef DET_HAS_HDF5

Json read_keras_model(const fs::path &path) {
  throw Error(Code::unsupported,
              "reading '" + path.string() +
                  "': this libdetnn was built without libhdf5 and libzip, which read the files of "
                  "Keras; build it with them, or have Keras save the weights with safetensors and "
                  "take the model from Model.to_json(): docs/nn.md shows how");
}

void read_keras_weights(Model &, const fs::path &path) { read_keras_model(path); }

#else

namespace {

// Of a model of hundreds of layers it is some 1 MB.
constexpr uint64_t largest_description = 64 << 20;
constexpr size_t longest_message = 1 << 16;

// The members of a .keras file.
class Archive {
 public:
  explicit Archive(const fs::path &path) : name_(path.string()) {
    int error = 0;
    archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &error));
    if (archive_) return;
    zip_error_t told;
    zip_error_init_with_code(&told, error);
    const std::string reason = zip_error_strerror(&told);
    zip_error_fini(&told);
    refuse("it is no zip archive, or is damaged: " + reason);
  }

  // Throws Code::corrupt where it has more bytes.
  std::string read(const char *member, uint64_t most) const {
    zip_stat_t known;
    if (zip_stat(archive_.get(), member, 0, &known) != 0 || (known.valid & ZIP_STAT_SIZE) == 0)
      refuse("it has no '" + std::string(member) + "', as .keras files do");
    if (known.size > most)
      refuse("its '" + std::string(member) + "' has " + std::to_string(known.size) +
             " bytes, and at most " + std::to_string(most) + " are expected");
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t *)> file(
        zip_fopen(archive_.get(), member, 0), zip_fclose);
    std::string bytes(known.size, 0);
    uint64_t got = 0;
    zip_int64_t count = file ? 1 : 0;
    while (count > 0 && got < known.size) {
      count = zip_fread(file.get(), bytes.data() + got, known.size - got);
      if (count > 0) got += static_cast<uint64_t>(count);
    }
    // The end has a checksum.
    char end = 0;
    if (file && got == known.size && zip_fread(file.get(), &end, 1) == 0) return bytes;
    refuse("its '" + std::string(member) + "' cannot be read: " +
           (file ? zip_file_strerror(file.get()) : zip_strerror(archive_.get())));
  }

 private:
  [[noreturn]] void refuse(const std::string &problem) const {
    throw Error(Code::corrupt, "reading '" + name_ + "': " + problem);
  }

  const std::string name_;
  std::unique_ptr<zip_t, void (*)(zip_t *)> archive_{nullptr, zip_discard};
};

// Where Keras keeps a weight of a model.
struct WeightPath {
  size_t weight;     // of Model::weights()
  std::string path;  // in a .weights.h5
};

// Those of one layer of the model, in the order of Keras.
struct LayerPlaces {
  std::string name;
  std::vector<WeightPath> paths;
};

// Goes through a model as Keras does when it writes one.
class Walk {
 public:
  // `container` is how a file calls the layers of a model.
  Walk(const Model &model, std::string container) : container_(std::move(container)) {
    std::vector<Named> all;
    for (size_t i = 0; i < model.weights().all().size(); ++i)
      all.push_back({i, model.weights().at(i).name});
    const Json written = write_model(model.graph());
    for (const Part &part : parts_of(written, "", all)) {
      std::vector<WeightPath> paths;
      place(part.layer, part.path, part.weights, paths);
      layers_.push_back({part.name, std::move(paths)});
    }
  }

  const std::vector<LayerPlaces> &layers() const { return layers_; }

 private:
  struct Named {
    size_t weight;
    std::string_view name;  // within the layer that is looked at
  };
  struct Part {
    const Json &layer;
    std::string name, path;
    std::vector<Named> weights;
  };

  static bool is_model(const Json &layer) {
    const Json &class_name = layer.at("class_name");
    return class_name == "Sequential" || class_name == "Functional" || class_name == "Model";
  }

  // The layers of a model. A name may begin with another and '/': the longest is meant.
  std::vector<Part> parts_of(const Json &model, const std::string &path,
                             const std::vector<Named> &weights) const {
    std::vector<Part> parts;
    std::map<std::string, size_t> taken, found;
    for (const Json &layer : model.at("config").at("layers")) {
      const auto class_name = layer.at("class_name").get<std::string>();
      std::string called = snake_case(class_name == "Model" ? "Functional" : class_name);
      if (const size_t before = taken[called]++; before > 0) called += "_" + std::to_string(before);
      const auto name = layer.at("config").at("name").get<std::string>();
      found.emplace(name, parts.size());
      parts.push_back({layer, name, path + container_ + "/" + called, {}});
    }
    for (const Named &one : weights) {
      size_t end = one.name.rfind('/');
      auto part = found.end();
      for (; end != one.name.npos && part == found.end(); end = one.name.rfind('/', end - 1)) {
        part = found.find(std::string(one.name.substr(0, end)));
        if (part != found.end())
          parts[part->second].weights.push_back({one.weight, one.name.substr(end + 1)});
        if (end == 0) break;
      }
      if (part == found.end())
        throw Error(Code::unsupported, "looking for the weight " +
                                           tensors::quoted_name(std::string(one.name)) +
                                           " in a file of Keras: its place is not known");
    }
    return parts;
  }

  static std::vector<Named> slice(const std::vector<Named> &all, size_t part, size_t count) {
    const auto at = [&](size_t index) {
      return all.begin() + static_cast<std::ptrdiff_t>(index * all.size() / count);
    };
    return {at(part), at(part + 1)};
  }

  void place(const Json &layer, const std::string &path, const std::vector<Named> &weights,
             std::vector<WeightPath> &paths) const {
    if (weights.empty()) return;
    const Json &class_name = layer.at("class_name"), &config = layer.at("config");
    if (is_model(layer)) {
      for (const Part &part : parts_of(layer, path + "/", weights))
        place(part.layer, part.path, part.weights, paths);
    } else if (class_name == "TimeDistributed") {
      place(config.at("layer"), path + "/layer", weights, paths);
    } else if (class_name == "Bidirectional") {
      place(config.at("layer"), path + "/forward_layer", slice(weights, 0, 2), paths);
      place(config.at("layer"), path + "/backward_layer", slice(weights, 1, 2), paths);
    } else if (class_name == "MultiHeadAttention") {
      size_t part = 0;
      for (const char *dense : {"_query_dense", "_key_dense", "_value_dense", "_output_dense"})
        own(path + "/" + dense, slice(weights, part++, 4), paths);
    } else {
      const bool is_recurrent =
          class_name == "LSTM" || class_name == "GRU" || class_name == "SimpleRNN";
      own(is_recurrent ? path + "/cell" : path, weights, paths);
    }
  }

  static void own(const std::string &path, const std::vector<Named> &weights,
                  std::vector<WeightPath> &paths) {
    for (size_t i = 0; i < weights.size(); ++i)
      paths.push_back({weights[i].weight, path + "/vars/" + std::to_string(i)});
  }

  const std::string container_;
  std::vector<LayerPlaces> layers_;
};

// For each weight of a model the array that it has in a file.
class Search {
 public:
  Search(const Model &model, const Hdf5File &file) : model_(model), file_(file) {
    arrays_.resize(model.weights().all().size());
    const std::string models = file.has("model_weights") ? "model_weights" : "";
    if (!file.texts(models, "layer_names").empty()) find_by_layer(models);
    else find_by_path();
    check();
  }

  const std::vector<std::string> &arrays() const { return arrays_; }

 private:
  [[noreturn]] void refuse(const std::string &problem) const {
    throw Error(Code::invalid, "reading '" + file_.name() + "' for the model '" +
                                   model_.graph().name() + "': " + problem);
  }

  // As releases from 2.12 on write it, in .keras and .weights.h5.
  void find_by_path() {
    const char *old_name = "_layer_checkpoint_dependencies";
    const std::string container = file_.has(old_name) ? old_name : "layers";
    if (!file_.has(container)) refuse("it has no weights of a model in it");
    const Walk walk(model_, container);
    for (const LayerPlaces &layer : walk.layers())
      for (const WeightPath &path : layer.paths) arrays_[path.weight] = path.path;
    std::set<std::string> known;
    for (std::string &path : arrays_) {
      // Keras 3 calls the products of attention by names without it.
      if (const size_t at = path.find("/_"); at != path.npos && !file_.has(path))
        path.erase(at + 1, 1);
      if (!file_.has(path)) refuse("it has no array " + tensors::quoted_name(path));
      known.insert(path);
    }
    for (const std::string &path : file_.arrays(container))
      if (known.count(path) == 0 && path.find("/seed_generator/") == path.npos)
        refuse("it has an array " + tensors::quoted_name(path) + ", which is not in the model");
  }

  // As .h5 files have it: for each layer the names of its weights, those that are trained first.
  void find_by_layer(const std::string &models) {
    const std::string prefix = models.empty() ? "" : models + "/";
    std::vector<std::pair<std::string, std::vector<std::string> > > stored;
    for (const std::string &layer : file_.texts(models, "layer_names"))
      if (auto names = file_.texts(prefix + layer, "weight_names"); !names.empty())
        stored.emplace_back(layer, std::move(names));
    std::vector<LayerPlaces> wanted;
    const Walk walk(model_, "layers");
    for (const LayerPlaces &layer : walk.layers())
      if (!layer.paths.empty()) wanted.push_back(layer);
    if (stored.size() != wanted.size())
      refuse("it has weights of " + std::to_string(stored.size()) + " layers, and the model has " +
             std::to_string(wanted.size()) + " layers with weights");
    std::map<std::string, size_t> by_name;
    for (size_t i = 0; i < stored.size(); ++i) by_name.emplace(stored[i].first, i);
    const bool have_names = std::all_of(wanted.begin(), wanted.end(), [&](const auto &layer) {
      return by_name.count(layer.name) > 0;
    });
    for (size_t i = 0; i < wanted.size(); ++i) {
      std::vector<WeightPath> &paths = wanted[i].paths;
      const auto &[layer, names] = stored[have_names ? by_name.at(wanted[i].name) : i];
      std::stable_partition(paths.begin(), paths.end(), [&](const WeightPath &path) {
        return model_.weights().at(path.weight).options.is_trained;
      });
      if (names.size() != paths.size())
        refuse("it has " + std::to_string(names.size()) + " weights of the layer " +
               tensors::quoted_name(layer) + ", and " + tensors::quoted_name(wanted[i].name) +
               " has " + std::to_string(paths.size()));
      for (size_t one = 0; one < names.size(); ++one)
        arrays_[paths[one].weight] = prefix + layer + "/" + names[one];
    }
  }

  void check() const {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const Weight &weight = model_.weights().at(i);
      const Shape shape = file_.shape(arrays_[i]);
      if (shape != weight.options.shape)
        refuse("the array " + tensors::quoted_name(arrays_[i]) + " is " + text_of(shape) +
               ", and " + text_of(weight.options.shape) + " is needed for " +
               tensors::quoted_name(weight.name));
    }
  }

  const Model &model_;
  const Hdf5File &file_;
  std::vector<std::string> arrays_;
};

// All of them, one behind another.
std::string weights_in(const Model &model, const Hdf5File &file) {
  const Search search(model, file);
  std::string bytes;
  std::vector<float> values;
  for (size_t i = 0; i < search.arrays().size(); ++i) {
    values.resize(model.weights().at(i).value.size());
    file.read(search.arrays()[i], values);
    bytes.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  }
  return bytes;
}

}  // namespace

Json read_keras_model(const fs::path &path) {
  const std::string name = path.string();
  const Kind kind = kind_of(path);
  if (kind == Kind::none) {
    open_file(path, O_RDONLY | O_NONBLOCK);  // which says why it cannot be read
    throw Error(Code::corrupt, "reading '" + name +
                                   "': it is neither an HDF5 file nor a zip archive, as the files "
                                   "of Keras are");
  }
  if (kind == Kind::zip)
    return parse_json_object(Archive(path).read("config.json", largest_description),
                             "config.json of '" + name + "'");
  const std::string described = read_apart(name, largest_description, [&] {
    return Hdf5File(path).text("", "model_config").value_or("");
  });
  if (!described.empty()) return parse_json_object(described, "model_config of '" + name + "'");
  throw Error(Code::invalid,
              "reading the model of '" + name +
                  "': it has weights alone; make the model from its JSON, and load them into it");
}

void read_keras_weights(Model &model, const fs::path &path) {
  model.check_built();
  const std::string name = path.string();
  uint64_t all = 0;
  for (const Weight &weight : model.weights().all()) all += weight.value.bytes();
  // Beside them in an archive are the numbers of the optimizer, a few times as many.
  std::string archived;
  if (kind_of(path) == Kind::zip)
    archived = Archive(path).read("model.weights.h5", (uint64_t{64} << 20) + 16 * all);
  const std::string bytes = read_apart(name, all + longest_message, [&] {
    return archived.empty() ? weights_in(model, Hdf5File(path))
                            : weights_in(model, Hdf5File(archived, name));
  });
  if (bytes.size() != all)
    throw Error(Code::corrupt, "reading '" + name + "': it is a damaged HDF5 file");
  size_t at = 0;
  for (const Weight &weight : model.weights().all()) {
    std::copy_n(bytes.data() + at, weight.value.bytes(), static_cast<char *>(weight.value.raw()));
    at += weight.value.bytes();
  }
}

#endif

}  // namespace det::nn
