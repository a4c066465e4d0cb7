#include "counts.hpp"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "memory.hpp"

namespace simulated_gpu {

namespace {

// One line, written with one call: several processes may append to the same file.
void write_report() {
  const char* const path = std::getenv("SIMULATED_GPU_REPORT");
  if (!path) return;
  const Counts& all = counts();
  std::ostringstream line;
  line << "{\"operators\":" << all.operators << ",\"bytes_to_device\":" << all.to_device
       << ",\"bytes_to_host\":" << all.to_host << ",\"bytes_between_devices\":" << all.between_devices
       << ",\"faults\":" << all.faults << ",\"host_waits\":" << all.host_waits << ",\"waits\":{";
  const char* comma = "";
  for (const auto& [name, count] : all.waits_by_name)
    line << std::exchange(comma, ",") << '"' << name << "\":" << count;
  line << "},\"peak_bytes\":[";
  for (int device = 0; device < devices(); ++device)
    line << (device ? "," : "")
         << device_allocator().getDeviceStats(static_cast<c10::DeviceIndex>(device)).allocated_bytes[0].peak;
  line << "]}\n";
  const std::string text = line.str();
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0 || write(file, text.data(), text.size()) < 0)
    std::perror("simulated GPU: the report cannot be written");
  if (file >= 0) close(file);
}

struct AtExit {
  ~AtExit() { write_report(); }
};
[[maybe_unused]] const AtExit at_exit;

}  // namespace

Counts& counts() {
  static auto* const all = new Counts;
  return *all;
}

void fault(const std::string& message) {
  ++counts().faults;
  std::fprintf(stderr, "simulated GPU: %s\n", message.c_str());
  TORCH_CHECK(false, "simulated GPU: ", message);
}

}  // namespace simulated_gpu
