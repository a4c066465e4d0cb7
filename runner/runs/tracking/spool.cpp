#include "runner/runs/tracking/spool.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "registry/base/log.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void cannot_read(const fs::path& file) {
  throw std::runtime_error("Cannot read " + file.string() + ": " + std::strerror(errno) + ".");
}

// Removes what follows the items that can be read. A process that was killed leaves part of its last item;
// items after a damaged one are kept in another file.
void cut_unreadable(const fs::path& file, std::uint64_t readable) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(readable));
  const std::string rest{std::istreambuf_iterator(in), {}};
  if (readable + rest.size() != fs::file_size(file)) cannot_read(file);
  if (find_record(std::string_view(rest).substr(rest.empty() ? 0 : 1))) {
    const fs::path copy = file.string() + ".damaged";
    fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    log::warning("{} is damaged: its last {} bytes cannot be sent; {} keeps a copy of the file.",
                 file.string(), rest.size(), copy.string());
  }
  fs::resize_file(file, readable);
}

std::ifstream open_at(const fs::path& file, std::uint64_t position) {
  std::ifstream in(file, std::ios::binary);
  if (!in) cannot_read(file);
  in.seekg(static_cast<std::streamoff>(position));
  return in;
}

// Items that can be read one after another, and the position after them.
struct Readable {
  std::uint64_t end = 0;
  std::size_t items = 0;
};

Readable readable(const fs::path& file, std::uint64_t begin, std::uint64_t end) {
  std::ifstream in = open_at(file, begin);
  Readable found{begin};
  while (found.end < end) {
    const auto record = read_record(in);
    if (!record) break;
    found.end += record_size(*record);
    ++found.items;
  }
  if (in.bad()) cannot_read(file);
  return found;
}

// Whether the position is inside an item: then it was noted for another file.
bool is_inside_item(const fs::path& file, std::uint64_t position) {
  const Readable before = readable(file, 0, position);
  return before.items > 0 && before.end != position;
}

std::string next_record(std::istream& in, const fs::path& file) {
  auto record = read_record(in);
  if (!record) throw std::runtime_error(file.string() + " is damaged: an item in it cannot be read.");
  return *std::move(record);
}

}  // namespace

Spool::Spool(fs::path file, std::uint64_t longest_sent)
    : file_(std::move(file)), sent_file_(file_.string() + ".sent"), longest_sent_(longest_sent) {
  if (!fs::is_regular_file(file_)) {
    fs::remove(sent_file_);  // of a file that somebody removed
    return;
  }
  std::ifstream(sent_file_) >> sent_;
  const std::uint64_t size = fs::file_size(file_);
  if (sent_ > size) write_sent(0);  // the process was killed after it had emptied the file
  Readable unsent = readable(file_, sent_, size);
  if (unsent.items == 0 && sent_ < size && is_inside_item(file_, sent_)) {
    write_sent(0);  // items that are sent twice do less harm than ones that are never sent
    unsent = readable(file_, 0, size);
  }
  size_ = unsent.items;
  if (unsent.end < size) cut_unreadable(file_, unsent.end);
}

void Spool::append(std::span<const SharedItem> items) {
  if (!out_) out_ = std::make_unique<RecordFile>(file_);
  for (const SharedItem& item : items) out_->add(write_item(*item));
  out_->flush();
  size_ += items.size();
}

void Spool::append_to_front(std::span<const SharedItem> items) {
  if (size_ > 0) throw std::logic_error("These items are older than those in the spool.");
  append(items);
  front_items_ = items.size();
  front_bytes_ = fs::file_size(file_) - sent_;
}

std::vector<SharedItem> Spool::front(std::size_t count) {
  std::vector<SharedItem> items;
  std::ifstream in = open_at(file_, sent_);
  front_bytes_ = 0;
  front_items_ = count;
  while (items.size() < count) {
    const std::string record = next_record(in, file_);
    front_bytes_ += record_size(record);
    items.push_back(std::make_shared<const Item>(read_item(record)));
  }
  return items;
}

void Spool::remove_front() {
  size_ -= front_items_;
  if (size_ == 0) fs::resize_file(file_, 0);
  write_sent(size_ == 0 ? 0 : sent_ + front_bytes_);
  front_items_ = 0;
  front_bytes_ = 0;
  // The training thread may have to wait for this, so only a short rest is copied.
  if (sent_ > longest_sent_ && fs::file_size(file_) - sent_ < longest_sent_) drop_sent();
}

void Spool::drop_sent() {
  try {
    rewrite(size_, [](const std::string&) { return true; });
  } catch (const std::exception&) {  // such as a full disk
    std::error_code ignored;
    fs::remove(draft(), ignored);
    longest_sent_ *= 2;  // not again at once
  }
}

void Spool::cut(const RunFacts& facts) {
  if (size_ == 0) return;
  // If the tracker's place is known, it had processed all items when the checkpoint was taken.
  rewrite(facts.place.empty() ? size_ : 0,
          [&](const std::string& record) { return is_kept(read_item(record), facts); });
}

// Keeps only some of the `count` oldest items.
template <class IsKept>
void Spool::rewrite(std::size_t count, IsKept is_kept) {
  fs::remove(draft());
  std::size_t kept = 0;
  {
    std::ifstream in = open_at(file_, sent_);
    RecordFile out(draft());
    for (std::size_t i = 0; i < count; ++i) {
      const std::string record = next_record(in, file_);
      if (is_kept(record)) out.add(record), ++kept;
    }
    out.flush();
  }
  out_.reset();
  fs::remove(sent_file_);  // if the process is killed here, some items are sent twice rather than never
  fs::rename(draft(), file_);
  sent_ = 0;
  size_ = kept;
}

// Always the same 20 bytes in one write, so a process that is killed leaves the old or the new number.
void Spool::write_sent(std::uint64_t bytes) {
  sent_ = bytes;
  std::string text = std::to_string(bytes);
  text.resize(20, ' ');
  std::fstream out(sent_file_, std::ios::in | std::ios::out | std::ios::binary);
  if (!out) out.open(sent_file_, std::ios::out | std::ios::binary);
  out << text;
  out.flush();
  if (!out) throw std::runtime_error("Cannot write " + sent_file_.string() + ".");
}

}  // namespace runner
