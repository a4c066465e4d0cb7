#include "components/datasets/read/file_text.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "registry/base/ascii.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/gzip.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

constexpr std::string_view gzip_start = "\x1F\x8B";

std::string unpacked(const std::filesystem::path& path) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  GzipReader reader(path);
  std::string text;
  std::vector<std::uint8_t> part(at_once);
  for (std::size_t count = at_once; count == at_once;) {
    count = reader.read(part);
    text.append(reinterpret_cast<const char*>(part.data()), count);
  }
  if (text.empty()) throw IoError(path.string() + " is empty.");
  return text;
}

struct Format {
  std::string_view start, name, remedy;
};

constexpr std::string_view to_arrays =
    "To use arrays, save them as safetensors for the dataset \"tensors\", in Python: "
    "safetensors.numpy.save_file({\"input\": inputs, \"target\": targets}, \"train.safetensors\")";
constexpr std::array<Format, 17> formats{{
    {"PAR1", "a Parquet file",
     "Convert it to CSV, with pandas: read_parquet(FILE).to_csv(\"table.csv\", index=False)"},
    {"ARROW1", "an Arrow file",
     "Convert it to CSV, with pandas: read_feather(FILE).to_csv(\"table.csv\", index=False)"},
    {"FEA1", "a Feather file",
     "Convert it to CSV, with pandas: read_feather(FILE).to_csv(\"table.csv\", index=False)"},
    {"\x93NUMPY", "a NumPy array", to_arrays},
    {"\x89HDF\r\n\x1A\n", "an HDF5 file", to_arrays},
    {"\xD0\xCF\x11\xE0", "a spreadsheet of Excel, or another file of Office", "Save the sheet as CSV"},
    {"SQLite format 3", "an SQLite database",
     "Export the table: sqlite3 -header -csv FILE \"select * from TABLE\" > table.csv"},
    {"BZh", "compressed with bzip2", "Unpack it first: bunzip2 -k FILE"},
    {"\xFD\x37zXZ", "compressed with xz", "Unpack it first: unxz -k FILE"},
    {"\x28\xB5\x2F\xFD", "compressed with Zstandard", "Unpack it first: unzstd FILE"},
    {"%PDF-", "a PDF document", "Copy its text into a file: pdftotext FILE"},
    {"\x89PNG", "an image", "For images there is the dataset \"image_folder\""},
    {"\xFF\xD8\xFF", "an image", "For images there is the dataset \"image_folder\""},
    {"GIF8", "an image", "For images there is the dataset \"image_folder\""},
    {"\x7F"
     "ELF",
     "a program", "Name the file with the data"},
    {"Obj\x01", "an Avro file", "Convert it to JSON lines or CSV"},
    {"ORC", "an ORC file",
     "Convert it to CSV, with pandas: read_orc(FILE).to_csv(\"table.csv\", index=False)"},
}};

// What a zip archive holds is in the names of its entries, at both ends.
Format zip_format(std::string_view bytes) {
  constexpr std::size_t looked_at = std::size_t{64} << 10;
  const std::string_view first = bytes.substr(0, looked_at),
                         last = bytes.substr(bytes.size() - std::min(bytes.size(), looked_at));
  const auto holds = [&](std::string_view name) {
    return first.find(name) != std::string_view::npos || last.find(name) != std::string_view::npos;
  };
  if (holds("xl/workbook"))
    return {"", "an Excel workbook",
            "Save the sheet as CSV, or with pandas: read_excel(FILE).to_csv(\"table.csv\", index=False)"};
  if (holds("word/document")) return {"", "a Word document", "Save it as plain text"};
  if (holds("opendocument"))
    return {"", "an OpenDocument file", "Save the sheet as CSV, or the text as plain text"};
  if (holds("data.pkl")) return {"", "a file of torch.save", to_arrays};
  if (holds(".npy")) return {"", "a file of NumPy arrays", to_arrays};
  return {"", "a zip archive", "Unpack it first: unzip FILE"};
}

std::string with_file(std::string_view remedy, const std::filesystem::path& path) {
  std::string text(remedy);
  if (const std::size_t at = text.find("FILE"); at != std::string::npos) {
    const bool in_python = at > 0 && text[at - 1] == '(';
    text.replace(at, 4, in_python ? in_quotes(path.filename().string()) : path.string());
  }
  return text;
}

}  // namespace

FileText::FileText(const std::filesystem::path& path)
    : mapped_(path), packed_(mapped_.text().starts_with(gzip_start)) {
  if (packed_) unpacked_ = unpacked(path);
}

void require_text(std::string_view bytes, const std::filesystem::path& path, std::string_view wanted) {
  const auto known =
      std::ranges::find_if(formats, [&](const Format& one) { return bytes.starts_with(one.start); });
  const bool zip = bytes.starts_with("PK\x03\x04");
  if (known == formats.end() && !zip) return;
  // A text may begin with the few letters of a name.
  constexpr std::size_t head = 4096;
  const std::string_view first = bytes.substr(0, head);
  if (known != formats.end() &&
      std::ranges::none_of(first, [](char one) { return static_cast<unsigned char>(one) < 9; }))
    return;
  const Format format = zip ? zip_format(bytes) : *known;
  throw IoError(path.string() + " is " + std::string(format.name) + ", not " + std::string(wanted) + ". " +
                with_file(format.remedy, path) + ".");
}

std::string ending_of(const std::filesystem::path& path) {
  const std::string ending = ascii_lower(path.extension().string());
  return ending == ".gz" ? ascii_lower(path.stem().extension().string()) : ending;
}

}  // namespace runner
