#include "runner/engine/runtime/memory.hpp"

#include <catch2/catch_all.hpp>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

using namespace runner;
using runner::testing::TemporaryFolder;

namespace {

// A machine with 1000 KiB, of which 900 are available, and control groups.
struct Machine {
  Machine() {
    write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 900 kB\nSwapFree: 0 kB\n");
  }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  TemporaryFolder root;
};

}  // namespace

TEST_CASE("main memory: that of the machine if no control group limits it") {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/user.slice\n");
  machine.write("sys/fs/cgroup/user.slice/memory.max", "max\n");
  const MainMemory memory = main_memory(machine.root.path());
  CHECK(memory.total == 1000 * 1024);
  CHECK(memory.available == 900 * 1024);
  CHECK(main_memory(machine.root / "nothing").total == 0);
}

TEST_CASE("main memory: files that a container has read do not count as used") {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/\n");
  machine.write("sys/fs/cgroup/memory.max", "500000\n");
  machine.write("sys/fs/cgroup/memory.current", "490000\n");
  machine.write("sys/fs/cgroup/memory.stat",
                "anon 90000\nfile 400000\ninactive_file 350000\nactive_file 50000\n");
  const MainMemory memory = main_memory(machine.root.path());
  CHECK(memory.total == 500000);
  CHECK(memory.available == 360000);
}

TEST_CASE("main memory: the limits of the process's own control group count, and of those above it") {
  const Machine machine;
  machine.write("proc/self/cgroup", "1:name=systemd:/\n0::/slurm/job/step\n");
  machine.write("sys/fs/cgroup/slurm/job/step/memory.max", "max\n");
  machine.write("sys/fs/cgroup/slurm/job/memory.max", "300000\n");
  machine.write("sys/fs/cgroup/slurm/job/memory.current", "100000\n");
  machine.write("sys/fs/cgroup/slurm/memory.max", "400000\n");
  machine.write("sys/fs/cgroup/slurm/memory.current", "350000\n");
  const MainMemory memory = main_memory(machine.root.path());
  CHECK(memory.total == 300000);
  CHECK(memory.available == 50000);  // other jobs use the rest
}
