#include "runner/plugins/read_stamp.hpp"

#include <elf.h>

#include <cstring>

#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/mapped_file.hpp"
#include "runner/plugins/plugin_error.hpp"

namespace runner {

namespace {

// An untrusted ELF file: every offset is checked before it is used.
class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& path) : file_(path) {
    if (file_.bytes().size() < SELFMAG || std::memcmp(file_.bytes().data(), ELFMAG, SELFMAG) != 0)
      fail("is not a shared library");
    header_ = read<Elf64_Ehdr>(0);
    const bool own_format =
        header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB;
    if (!own_format || header_.e_machine != own_machine) fail("was built for another kind of processor");
    if (header_.e_type != ET_DYN) fail("is not a shared library, but another kind of ELF file");
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) fail("is broken: its sections cannot be read");
  }

  // Checks every section, so that a truncated file is always noticed. Empty: there is no such section.
  std::span<const std::uint8_t> section(std::string_view wanted) const {
    std::span<const std::uint8_t> found;
    const Elf64_Shdr names = section_header(header_.e_shstrndx);
    for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr section = section_header(i);
      if (section.sh_type == SHT_NOBITS) continue;
      const auto content = bytes(section.sh_offset, section.sh_size);
      if (section.sh_name >= names.sh_size) continue;
      const auto name = bytes(names.sh_offset + section.sh_name, names.sh_size - section.sh_name);
      const bool same = name.size() > wanted.size() && name[wanted.size()] == 0 &&
                        std::memcmp(name.data(), wanted.data(), wanted.size()) == 0;
      if (same) found = content;
    }
    return found;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw PluginError("the plugin " + file_.path().string() + " " + what);
  }

 private:
#if defined(__x86_64__)
  static constexpr int own_machine = EM_X86_64;
#elif defined(__aarch64__)
  static constexpr int own_machine = EM_AARCH64;
#else
#error "add the e_machine of this processor"
#endif

  std::span<const std::uint8_t> bytes(std::uint64_t offset, std::uint64_t count) const {
    const std::uint64_t size = file_.bytes().size();
    if (offset > size || count > size - offset) fail("is truncated");
    return file_.bytes().subspan(offset, count);
  }

  template <class T>
  T read(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }

  Elf64_Shdr section_header(std::uint64_t index) const {
    if (index >= header_.e_shnum) fail("is broken: its section names are missing");
    return read<Elf64_Shdr>(header_.e_shoff + index * sizeof(Elf64_Shdr));
  }

  MappedFile file_;
  Elf64_Ehdr header_{};
};

template <std::size_t capacity>
std::string text(const char (&place)[capacity]) {
  return stamp_text(place);
}

}  // namespace

std::optional<PluginStamp> read_stamp(const std::filesystem::path& path) {
  try {
    const ElfFile file(path);
    const auto bytes = file.section(PluginStamp::section);
    if (bytes.empty()) return std::nullopt;
    constexpr std::size_t least_bytes = offsetof(PluginStamp, runner);
    PluginStamp stamp;
    if (bytes.size() < least_bytes) file.fail("is broken: its stamp is too short");
    std::memcpy(static_cast<void*>(&stamp), bytes.data(), std::min(bytes.size(), sizeof stamp));
    if (text(stamp.magic) != PluginStamp::expected_magic)
      file.fail("is broken: its stamp was not written by runner");
    if (stamp.interface == interface_version && (bytes.size() != sizeof stamp || stamp.size != sizeof stamp))
      file.fail("is broken: its stamp has a wrong size");
    return stamp;
  } catch (const IoError& error) {
    throw PluginError(error.what());
  }
}

std::string misfit(const PluginStamp& plugin, const PluginStamp& program) {
  const auto differ = [](const std::string& what, const std::string& its, const std::string& ours) {
    return "was built " + what + " " + its + ", this program " + what + " " + ours;
  };
  if (plugin.interface != program.interface) {
    return differ("for interface version", std::to_string(plugin.interface),
                  std::to_string(program.interface));
  }
  if (text(plugin.libtorch) != text(program.libtorch))
    return differ("with LibTorch", text(plugin.libtorch), text(program.libtorch));
  if (text(plugin.library) != text(program.library))
    return differ("with the C++ library", text(plugin.library), text(program.library));
  if (text(plugin.build) != text(program.build))
    return "was built " + text(plugin.build) + ", this program " + text(program.build);
  for (std::size_t i = 0; i < std::size(program.types); ++i) {
    const PluginStamp::Type &its = plugin.types[i], &ours = program.types[i];
    if (text(its.name) == text(ours.name) && its.size == ours.size) continue;
    return "was built from other headers (runner " + text(plugin.runner) + ", this program is " +
           text(program.runner) + "): " + in_quotes(text(ours.name)) + " is " + std::to_string(its.size) +
           " bytes there and " + std::to_string(ours.size) + " here";
  }
  return "";
}

}  // namespace runner
