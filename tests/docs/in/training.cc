#include <cassert>
#include <det/core.hpp>
#include <det/nlohmann_json.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <vector>

void block(const det::Core &core) {
  assert(core);
  /* BLOCK */
}

int main() {
  std::filesystem::create_directory("model");
  const det::Core core = det::Core::init();
  block(core);
  core.close();
}
