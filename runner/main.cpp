#include <cstdio>

int main() { std::puts("runner " RUNNER_VERSION); }
