/* What a library that the core opens has to show. */
const char *const some_part[] = {"a build", "what it brings"};
