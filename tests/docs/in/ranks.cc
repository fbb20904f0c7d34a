#include <det/core.hpp>
#include <iostream>

int main() {
  /* BLOCK */
  core.close();
}
